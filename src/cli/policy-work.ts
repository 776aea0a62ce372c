// Asks the running server what its rules say, and prints it for people or programs.

import { resolve } from 'node:path';
import { policyExplain } from '../approvals/methods.ts';
import { AppError } from '../base/errors.ts';
import { ApprovalPolicy, SandboxMode } from '../model/policy.ts';
import type { Result } from '../rpc/declare.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type ServerChoice, withServer } from './running-server.ts';
import { folded, roomOf, visible } from './terminal.ts';

export interface ExplainOptions extends ServerChoice {
  readonly line: string | undefined;
  readonly files: readonly string[];
  readonly escalate: boolean;
  readonly thread: string | undefined;
  readonly folder: string | undefined;
  readonly approvalPolicy: string | undefined;
  readonly sandbox: string | undefined;
  readonly json: boolean;
}

/** Prints to standard output. Rejects as *invalid* when the flags do not fit together. */
export async function explainPolicy(options: ExplainOptions): Promise<ExitCode> {
  const { line, files, escalate, thread: threadId, folder, remote, json } = options;
  if ((line === undefined) === (files.length === 0))
    throw new AppError('invalid', 'name a command line or `--file PATH`, one of the two');
  const approvalPolicy = known(ApprovalPolicy(), '--approval-policy', options.approvalPolicy);
  const sandbox = known(SandboxMode(), '--sandbox', options.sandbox);
  // Another machine has other folders: there, only one that was named is meant.
  const cwd = folder ?? (threadId === undefined && remote === undefined ? '.' : undefined);
  return withServer(options, async (client) => {
    const said = await client.request(policyExplain, {
      ...{ threadId, approvalPolicy, sandbox },
      ...(cwd === undefined ? {} : { cwd: remote === undefined ? resolve(cwd) : cwd }),
      ...(line === undefined ? { files: [...files] } : { command: line, escalate }),
    });
    process.stdout.write(json ? `${JSON.stringify(said)}\n` : `${linesOf(said).join('\n')}\n`);
    return EXIT.done;
  });
}

function known<T>(
  schema: { safeParse(value: unknown): { success: true; data: T } | { success: false } },
  flag: string,
  typed: string | undefined,
): T | undefined {
  if (typed === undefined) return undefined;
  const parsed = schema.safeParse(typed);
  if (parsed.success) return parsed.data;
  throw new AppError(
    'invalid',
    `unknown ${flag} \`${typed}\`; \`heddle policy explain --help\` shows those that there are`,
  );
}

function linesOf(said: Result<typeof policyExplain>): readonly string[] {
  const width = roomOf(process.stdout);
  const indented = (text: string) => folded(text, width - 2).map((line) => `  ${line}`);
  const policy = typeof said.approvalPolicy === 'string' ? said.approvalPolicy : 'granular';
  return [
    ...folded(visible(said.explanation), width),
    ...indented(`in ${visible(said.cwd)}, approval policy ${policy}, sandbox ${said.sandboxPolicy.type}`),
    ...(said.command
      ? [
          ...indented(`a remembered rule would allow: ${visible(JSON.stringify(said.command.prefix))}`),
          ...(said.command.onlyReads ? ['  it only reads'] : []),
          ...said.command.unreadRules.flatMap((fault) => indented(`no rule: ${visible(fault)}`)),
        ]
      : []),
    ...(said.files ?? []).flatMap(({ path, standing }) => indented(`${visible(path)}: ${standing}`)),
  ];
}
