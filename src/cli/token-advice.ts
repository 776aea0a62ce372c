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
  'it takes tokens signed with its shared secret: `heddle token sign --secret-file FILE --sub NAME` prints one, ' +
  'FILE being what the server has as --ws-shared-secret-file';
const CAPABILITY =
  'it takes its capability token: what is in the file of its --ws-token-file, which `heddle app-server status` on its machine ' +
  'names if there is one; with --ws-token-sha256 only its operator has it';

/** The error with what to type below it, if it says that a token is wanted; never a token. */
export function withTokenAdvice(error: unknown, { address, source, isFound }: Offer): unknown {
  if (!isAppError(error, 'unauthenticated')) return error;
  const lines = [
    error.message,
    // A server of ours says in its refusal which kind it takes.
    /\bJWT\b/i.test(error.message) ? SIGNED : CAPABILITY,
    source === undefined
      ? `put it into an environment variable and name that: \`--remote ${address} --remote-auth-token-env VAR\``
      : `the one in ${source} is another one, or its time is over`,
    ...(isFound ? ['with `--listen unix://` beside it, commands on its machine need no token'] : []),
  ];
  return new AppError(error.kind, lines.join('\n'), error.data, { cause: error });
}
