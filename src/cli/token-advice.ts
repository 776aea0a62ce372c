// What to do about a server that was offered no token, or does not take the one that it was offered.

import { AppError, isAppError } from '../base/errors.ts';

export interface Offer {
  readonly address: string;
  /** The environment variable or file that the token came from; undefined: none was offered. */
  readonly source: string | undefined;
  /** The server was found by its data directory. */
  readonly isFound: boolean;
}

const SIGNED =
  'it takes tokens signed with its shared secret: `heddle token sign --secret-file FILE --sub NAME` prints one, FILE being what ' +
  'the server has as --ws-shared-secret-file; where it has --ws-issuer and --ws-audience, give --issuer and --audience too';
const CAPABILITY =
  'it takes its capability token: what is in the file of its --ws-token-file, which `heddle app-server status` on its machine ' +
  'names if there is one; with --ws-token-sha256 only its operator has it';

const TOKEN_FILE = /; the token is in (\S+)$/;
/** What is wrong with a signed token is said. */
const REASON = /\bjwt (issuer|audience) mismatch|expired websocket jwt|is not valid yet/;

/** The error with what to type below it, if it says that a token is wanted; never a token. */
export function withTokenAdvice(error: unknown, { address, source, isFound }: Offer): unknown {
  if (!isAppError(error, 'unauthenticated')) return error;
  const lines = [
    error.message,
    ...kindOf(error.message),
    ...(source === undefined
      ? [`${howToGive(error.message)} \`--remote ${address} --remote-auth-token-env VAR\``]
      : []),
    ...(source === undefined || REASON.test(error.message)
      ? []
      : [`the one in ${source} is another one, or its time is over`]),
    ...(isFound ? ['with `--listen unix://` beside it, commands on its machine need no token'] : []),
  ];
  return new AppError(error.kind, lines.join('\n'), error.data, { cause: error });
}

/** A server of ours says in its refusal which kind it takes, and on its own machine also where that is. */
function kindOf(refusal: string): readonly string[] {
  if (TOKEN_FILE.test(refusal)) return [];
  return [/\bJWT\b/i.test(refusal) ? SIGNED : CAPABILITY];
}

function howToGive(refusal: string): string {
  const [, file] = TOKEN_FILE.exec(refusal) ?? [];
  return file === undefined
    ? 'put it into an environment variable and name that:'
    : `put it into an environment variable, such as by \`export VAR=$(cat ${file})\`, and name that:`;
}
