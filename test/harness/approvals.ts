// A turn that waits for the approval of a command that leaves a mark when it runs.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningApp } from './start-app.ts';
import type { Question, TestClient } from './test-client.ts';
import { startThread, startTurn } from './turns.ts';

export interface AskedTurn {
  readonly threadId: string;
  readonly turnId: string;
  readonly question: Question;
  /** How often the command has run. */
  runs(): Promise<number>;
}

/** `params` go into `thread/start`; `verb` of the mock's script says whether the command asks to leave the sandbox. */
export async function askedTurn(
  server: RunningApp,
  client: TestClient,
  params: object = {},
  verb: 'run' | 'run!' = 'run!',
): Promise<AskedTurn> {
  const threadId = await startThread(client, { cwd: server.workspace, ...params });
  const mark = join(server.workspace, `mark-${threadId}`);
  const turnId = await startTurn(client, threadId, `${verb} echo ran >> ${mark}`);
  const question = await client.asked((each) => each.threadId === threadId);
  return { threadId, turnId, question, runs: () => timesMarked(mark) };
}

async function timesMarked(mark: string): Promise<number> {
  const text = await readFile(mark, 'utf8').catch(() => '');
  return text.split('\n').length - 1;
}
