// What each clear answer to an approval does, and for how long it holds.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { askedTurn } from '../harness/approvals.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemCompleted, runTurn, startThread, startTurn } from '../harness/turns.ts';
import { isRunning, pidsIn } from '../unit/children/waiting.ts';

afterEach(cleanUp);

const noSandbox = async () => ({ isAvailable: false, reason: 'none here', advice: 'install one' }) as const;

test('accept runs the command once and is asked again the next time', async () => {
  const server = await startApp();
  const client = await server.connect();
  const turn = await askedTurn(server, client);
  turn.question.answer({ decision: 'accept' });
  expect((await completed(client, turn.turnId)).status).toBe('completed');
  expect(await turn.runs()).toBe(1);
  const again = await startTurn(client, turn.threadId, `run! ${lineOf(turn.question.params)}`);
  const question = await client.asked((each) => each.turnId === again);
  question.answer({ decision: 'decline' });
  await completed(client, again);
  expect(await turn.runs()).toBe(1);
});

test('a yes for the session holds for exactly this command while the thread is loaded', async () => {
  const server = await startApp();
  const client = await server.connect();
  const turn = await askedTurn(server, client);
  const line = lineOf(turn.question.params);
  turn.question.answer({ decision: 'acceptForSession' });
  await completed(client, turn.turnId);
  await runTurn(client, turn.threadId, `run! ${line}`);
  expect(client.questions()).toHaveLength(1);
  expect(await turn.runs()).toBe(2);
  const other = await startTurn(client, turn.threadId, `run! ${line} && true`);
  (await client.asked((each) => each.turnId === other)).answer({ decision: 'decline' });
  await completed(client, other);
  await server.restart();
  const later = await server.connect();
  await later.request('thread/resume', { threadId: turn.threadId });
  const after = await startTurn(later, turn.threadId, `run! ${line}`);
  (await later.asked((each) => each.turnId === after)).answer({ decision: 'decline' });
  await completed(later, after);
  expect(await turn.runs()).toBe(2);
});

test('a remembered rule is written where people can read it, and covers the command from then on', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const first = await startTurn(client, threadId, 'run! echo one');
  const question = await client.asked();
  expect(question.params.proposedExecpolicyAmendment).toEqual(['echo', 'one']);
  question.answer({ decision: question.params.availableDecisions[2] });
  await completed(client, first);
  const rules = await readFile(join(server.dataDirectory, 'rules', 'default.rules'), 'utf8');
  expect(rules).toBe('prefix_rule(pattern=["echo", "one"], decision="allow")\n');
  const other = await startThread(client);
  expect((await runTurn(client, other, 'run! echo one more')).status).toBe('completed');
  expect(client.questions()).toHaveLength(1);
});

test('decline lets the turn go on, and the model is told', async () => {
  const server = await startApp();
  const client = await server.connect();
  const turn = await askedTurn(server, client);
  turn.question.answer({ decision: 'decline' });
  const item = await itemCompleted(client, ({ type }) => type === 'commandExecution');
  expect(item).toMatchObject({ status: 'declined', processId: null, exitCode: null });
  await itemCompleted(client, ({ type }) => type === 'agentMessage');
  expect((await completed(client, turn.turnId)).status).toBe('completed');
});

test('cancel ends the turn', async () => {
  const server = await startApp();
  const client = await server.connect();
  const turn = await askedTurn(server, client);
  turn.question.answer({ decision: 'cancel' });
  expect((await completed(client, turn.turnId)).status).toBe('interrupted');
  expect(await turn.runs()).toBe(0);
});

test('without a sandbox an acceptance of exactly that runs the command bare, and the item says so', async () => {
  const server = await startApp({ sandbox: noSandbox });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'run echo bare');
  const question = await client.asked();
  expect(question.params.heddle.sandbox).toBe('unavailable');
  question.answer({ decision: 'accept' });
  await completed(client, turnId);
  const item = await itemCompleted(client, ({ type }) => type === 'commandExecution');
  expect(item).toMatchObject({ status: 'completed', sandbox: 'unavailable', aggregatedOutput: 'bare\n' });
});

test('without a sandbox and with nobody to be asked by policy the command does not run', async () => {
  const server = await startApp({ sandbox: noSandbox });
  const client = await server.connect();
  const threadId = await startThread(client, { approvalPolicy: 'never' });
  expect((await runTurn(client, threadId, 'run echo never')).status).toBe('completed');
  expect(client.questions()).toEqual([]);
  expect(client.news('item/started').filter(({ item }) => item.type === 'commandExecution')).toEqual([]);
});

test('full access runs bare without asking, sandbox or not', async () => {
  const server = await startApp({ sandbox: noSandbox });
  const client = await server.connect();
  const threadId = await startThread(client, { sandbox: 'danger-full-access', approvalPolicy: 'never' });
  await runTurn(client, threadId, 'run echo free');
  const item = await itemCompleted(client, ({ type }) => type === 'commandExecution');
  expect(item).toMatchObject({ status: 'completed', aggregatedOutput: 'free\n' });
  expect(item.sandbox).toBeUndefined();
});

/** The line that the mock was told to run, from the question about it. */
const lineOf = (params: { readonly [member: string]: unknown }): string =>
  /echo ran >> [^'"\s]+/.exec(String(params.command))![0];

test('cancel also ends the commands beside the one that was asked about, before the turn ends', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { sandbox: 'danger-full-access', approvalPolicy: 'untrusted' });
  const mark = join(server.workspace, 'pid');
  const turnId = await startTurn(client, threadId, `run echo $$ > ${mark}; sleep 600\nrun echo x`);
  (await client.asked(({ command }) => command.includes('sleep'))).answer({ decision: 'accept' });
  const [pid] = await pidsIn(mark, 1);
  (await client.asked(({ command }) => !command.includes('sleep'))).answer({ decision: 'cancel' });
  expect((await completed(client, turnId)).status).toBe('interrupted');
  expect(isRunning(pid!)).toBe(false);
  await client.settled();
  const ends = client.notifications().map(({ method }) => method);
  expect(ends.lastIndexOf('item/completed')).toBeLessThan(ends.indexOf('turn/completed'));
});
