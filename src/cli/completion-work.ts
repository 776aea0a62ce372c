// Answers a shell that completes a command line: one proposal a line, quickly and never with an error.

import { approvalPending } from '../approvals/methods.ts';
import { unlessAborted } from '../base/signals.ts';
import { connect } from '../client/client.ts';
import { threadList } from '../threads/list-methods.ts';
import type { CommandNode } from './command-tree.ts';
import { begun, type Completion, completionOf, type Proposal } from './completion-words.ts';
import { VERSION } from './environment.ts';
import { checkDoor } from './exec-door.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { questionOf } from './questions.ts';
import { connectionTo } from './running-server.ts';
import { visible } from './terminal.ts';

/** Whoever waits for a completion types on after that. */
const LIMIT_MS = 1_500;
const MOST_IDS = 50;
const MOST_WORDS = 60;

/** `args`: a shell, `--`, and the words behind `heddle` up to the one being typed. */
export async function completeWords(tree: CommandNode, args: readonly string[]): Promise<ExitCode> {
  const words = args.slice(args.indexOf('--') + 1);
  const completion = completionOf(tree, words);
  const { lookUp, proposals, kept } = completion;
  if (lookUp === 'file' || lookUp === 'folder') process.stdout.write(`:${lookUp}\n`);
  else {
    const current = (words.at(-1) ?? '').slice(kept.length);
    const found = lookUp === undefined ? proposals : begun(await known(lookUp, completion), current);
    for (const { word, describe } of found) process.stdout.write(`${word}\t${describe}\n`);
  }
  return EXIT.done;
}

async function known(
  what: 'variable' | 'setting' | 'thread' | 'approval',
  completion: Completion,
): Promise<readonly Proposal[]> {
  const plain = (names: readonly string[]) => names.map((word) => ({ word, describe: '' }));
  if (what === 'variable') return plain(Object.keys(process.env));
  if (what !== 'setting') return idsOf(what, completion);
  const { configSchema } = await import('./config-schema.ts');
  return plain(Object.keys(configSchema().properties ?? {}));
}

/** Of a server that runs; none is started, and no store is opened for it. */
async function idsOf(kind: 'thread' | 'approval', { given }: Completion): Promise<readonly Proposal[]> {
  const choice = { remote: given.remote, tokenVariable: given['remote-auth-token-env'], dataDir: given['data-dir'] };
  try {
    checkDoor({ ...choice, backend: undefined, config: [] });
    return await unlessAborted(asked(kind, choice), AbortSignal.timeout(LIMIT_MS));
  } catch {
    return [];
  }
}

async function asked(
  kind: 'thread' | 'approval',
  choice: Parameters<typeof connectionTo>[0],
): Promise<readonly Proposal[]> {
  const introduction = { name: 'heddle_completion', version: VERSION, experimentalApi: true };
  const client = await connect(await connectionTo(choice), introduction);
  try {
    if (kind === 'approval') {
      const { data } = await client.request(approvalPending, { limit: MOST_IDS });
      return data.map(({ approvalId, method, params }) => proposal(approvalId, questionOf(method, params).about));
    }
    const { data } = await client.request(threadList, { limit: MOST_IDS });
    return data.map(({ id, name, preview }) => proposal(id, name ?? preview));
  } finally {
    await client.close();
  }
}

const proposal = (word: string, about: string): Proposal => ({
  word,
  describe: visible(about.replace(/\s+/g, ' ').slice(0, MOST_WORDS)),
});
