// Commands that outlive their call: typed into, looked at over turns, listed, ended, and gone with whoever owns them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { callingModel } from '../harness/calling-model.ts';
import { responses, stream } from '../harness/model-server.ts';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemCompleted, itemsOf, runTurn, startThread, startTurn, streamedText } from '../harness/turns.ts';
import { eventually, isRunning, pidsIn } from '../unit/children/waiting.ts';

afterEach(cleanUp);

const FULL = { sandbox: 'danger-full-access', approvalPolicy: 'never' };
const SETTLED = { physicallySettled: true };

const terminals = async (client: TestClient, threadId: string): Promise<Received[]> =>
  (await client.request('thread/backgroundTerminals/list', { threadId })).data;

const commandsOf = async (client: TestClient, threadId: string): Promise<Received[]> =>
  (await itemsOf(client, threadId)).filter(({ type }) => type === 'commandExecution');

const isCommand = ({ type }: Received): boolean => type === 'commandExecution';

async function withThread(server: RunningApp) {
  const client = await server.connect({ experimentalApi: true });
  return { client, threadId: await startThread(client, { ...FULL, cwd: server.workspace }) };
}

/** A turn that leaves a command running which has written its pid. */
async function leftRunning(server: RunningApp, client: TestClient, threadId: string, more = '') {
  const file = join(server.workspace, `pids-${client.news('turn/completed').length}`);
  const turn = await runTurn(
    client,
    threadId,
    `leave echo $$ > ${file}; echo begun; ${more}while :; do sleep 60; done`,
  );
  const [pid] = await pidsIn(file, 1);
  return { turn, pid: pid! };
}

describe('with the model’s tools', () => {
  const outputOf = (text: string) => text.slice(text.indexOf('Output:\n') + 'Output:\n'.length);
  const sessionOf = (text: string) => Number(/^Process running with session ID (\d{5})$/m.exec(text)?.[1]);

  test('the model is given each piece of output once, over turns, and the end with its code', async () => {
    const { client, threadId, run } = await callingModel(FULL);
    const cmd = 'echo one; read x; echo two $x; printf "\\347"; read y; printf "\\214\\253"; exit 3';
    const first = await run([['exec_command', { cmd, tty: true, yield_time_ms: 250 }]]);
    const session = sessionOf(first.outputs[0]!);
    expect((await commandsOf(client, threadId))[0]).toMatchObject({ status: 'inProgress', processId: String(session) });
    const type = (chars: string, wait: number) =>
      run([['write_stdin', { session_id: session, chars, yield_time_ms: wait }]]);
    const second = await type('a\n', 250);
    expect(sessionOf(second.outputs[0]!)).toBe(session);
    const third = await type('b\n', 10_000);
    expect(third.outputs[0]).toMatch(/^Process exited with code 3$/m);
    const given = [first, second, third].map(({ outputs }) => outputOf(outputs[0]!));
    const item = await itemCompleted(client, isCommand);
    expect(item).toMatchObject({ status: 'failed', exitCode: 3 });
    expect(given.join('')).toBe(item.aggregatedOutput);
    expect(streamedText(client, item.id, 'item/commandExecution/outputDelta')).toBe(item.aggregatedOutput);
    const [ended] = client.news('item/completed').filter((each) => isCommand(each.item));
    expect(ended!.turnId).toBe(first.turn.id);
    const typed = client.news('item/commandExecution/terminalInteraction');
    expect(typed.map(({ turnId, itemId, processId, stdin }) => [turnId, itemId, processId, stdin])).toEqual([
      [second.turn.id, item.id, String(session), 'a\n'],
      [third.turn.id, item.id, String(session), 'b\n'],
    ]);

    const fourth = await run([['write_stdin', { session_id: session, chars: 'c\n' }]]);
    expect(fourth.outputs[0]).toBe(`write_stdin was refused: no command with the session ID ${session} runs here`);
  });

  test('the end in between turns is told by the next look, once', async () => {
    const { client, run, server } = await callingModel(FULL);
    const gate = join(server.workspace, 'gate');
    const cmd = `mkfifo ${gate}; echo one; cat ${gate}`;
    const first = await run([['exec_command', { cmd, yield_time_ms: 250 }]]);
    const session_id = sessionOf(first.outputs[0]!);
    const ended = itemCompleted(client, ({ command }) => command?.includes('mkfifo'));
    await eventually('the gate', () => existsSync(gate));
    await run([['exec_command', { cmd: `echo two > ${gate}` }]]);
    await ended;
    const { outputs } = await run([
      ['write_stdin', { session_id }],
      ['write_stdin', { session_id }],
    ]);
    expect(outputs[0]).toMatch(/^Process exited with code 0$/m);
    expect(outputOf(first.outputs[0]!) + outputOf(outputs[0]!)).toBe('one\ntwo\n');
    expect(outputs[1]).toMatch(/no command with the session ID/);
  });

  test('without a terminal it reads end-of-file, takes no input, and U+0003 ends it', async () => {
    const { client, run } = await callingModel(FULL);
    const first = await run([['exec_command', { cmd: 'cat; echo read; exec sleep 60', yield_time_ms: 300 }]]);
    const session_id = sessionOf(first.outputs[0]!);
    await client.notified('item/commandExecution/outputDelta');
    const { outputs } = await run([
      ['write_stdin', { session_id, chars: 'x' }],
      ['write_stdin', { session_id, chars: '\u0003', yield_time_ms: 10_000 }],
    ]);
    expect(outputs[0]).toMatch(/started without a terminal/);
    expect(outputs[1]).toMatch(/^Process exited with code/m);
    expect(await itemCompleted(client, isCommand)).toMatchObject({ status: 'failed', aggregatedOutput: 'read\n' });
  });

  test('nothing is written when the settings under which it was accepted have changed; looking and ending stay', async () => {
    const { client, threadId, run } = await callingModel(FULL);
    const cmd = 'echo ready; read x; echo got $x';
    const first = await run([['exec_command', { cmd, tty: true, yield_time_ms: 300 }]]);
    const session_id = sessionOf(first.outputs[0]!);
    await client.notified('item/commandExecution/outputDelta');
    const narrower = { sandboxPolicy: { type: 'readOnly', networkAccess: false } };
    const { outputs } = await run(
      [
        ['write_stdin', { session_id, chars: 'no\n' }],
        ['write_stdin', { session_id, chars: '\u0003', yield_time_ms: 5_000 }],
      ],
      narrower,
    );
    expect(outputs[0]).toMatch(/refused: the settings under which this command was accepted have changed/);
    expect(outputs[1]).toMatch(/^Process exited with code/m);
    const [command] = await commandsOf(client, threadId);
    expect(command!.aggregatedOutput).not.toContain('no');
  });

  test.each([[{ approvalPolicy: 'on-request' }], [{ cwd: '/' }]])(
    'a turn with %j does not write to it either',
    async (change) => {
      const { run } = await callingModel(FULL);
      const first = await run([['exec_command', { cmd: 'read x', tty: true, yield_time_ms: 300 }]]);
      const session_id = sessionOf(first.outputs[0]!);
      const { outputs } = await run([['write_stdin', { session_id, chars: 'no\n' }]], change);
      expect(outputs[0]).toMatch(/refused: the settings/);
    },
  );

  test('a session belongs to its thread', async () => {
    const { client, run, server, model } = await callingModel(FULL);
    const first = await run([['exec_command', { cmd: 'read x', tty: true, yield_time_ms: 300 }]]);
    const session_id = sessionOf(first.outputs[0]!);
    const other = await startThread(client, { ...FULL, cwd: server.workspace });
    model.script(
      stream([responses.call('elsewhere', 'write_stdin', { session_id, chars: 'no\n' }), responses.completed()]),
      stream(responses.say('done', '!')),
    );
    await runTurn(client, other, 'go on');
    expect(JSON.stringify(model.requests.at(-1)!.body.input)).toMatch(/no command with the session ID/);
    expect(client.news('item/commandExecution/terminalInteraction')).toEqual([]);
  });

  test('nothing that waits behind an interrupted look is written', async () => {
    const { client, threadId, run, model } = await callingModel(FULL);
    const first = await run([['exec_command', { cmd: 'read x; echo got $x', tty: true, yield_time_ms: 250 }]]);
    const session_id = sessionOf(first.outputs[0]!);
    const looking = responses.call('look', 'write_stdin', { session_id, yield_time_ms: 60_000 });
    const typing = responses.call('type', 'write_stdin', { session_id, chars: 'late\n' });
    model.script(stream([looking, typing, responses.completed()]));
    const turnId = await startTurn(client, threadId, 'go on');
    await client.notified('item/commandExecution/terminalInteraction', (params) => params.turnId === turnId);
    expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
    const told = client.news('item/commandExecution/terminalInteraction').map(({ stdin }) => stdin);
    expect(told).toEqual(['']);
    const [terminal] = await terminals(client, threadId);
    expect(terminal!.processId).toBe(String(session_id));
    const { outputs } = await run([['write_stdin', { session_id, chars: 'mine\n', yield_time_ms: 10_000 }]]);
    expect(outputs[0]).toContain('got mine');
  });

  test('a shell and no profile as the model wishes, but only a known shell', async () => {
    const { client, run } = await callingModel(FULL);
    const { outputs } = await run([
      ['exec_command', { cmd: 'echo $0', shell: 'sh', login: false }],
      ['exec_command', { cmd: 'echo $0', shell: '/tmp/bash' }],
    ]);
    expect(outputOf(outputs[0]!)).toBe('/bin/sh\n');
    expect(outputs[1]).toMatch(/not a shell that can be chosen/);
    expect((await itemCompleted(client, isCommand)).command).toBe("/bin/sh -c 'echo $0'");
  });
});

test('a command of the mock model is typed into, and its item ends within the turn', async () => {
  const { client, threadId } = await withThread(await startApp());
  const turn = await runTurn(client, threadId, 'leave read x; echo got $x\ntype hi');
  expect(turn.status).toBe('completed');
  const [begun] = client.news('item/started').filter(({ item }) => isCommand(item));
  const [ended] = client.news('item/completed').filter(({ item }) => isCommand(item));
  expect(begun!.item).toMatchObject({ source: 'unifiedExecStartup', processId: expect.stringMatching(/^\d{5}$/) });
  expect(ended!.item).toMatchObject({ status: 'completed', exitCode: 0, aggregatedOutput: 'hi\r\ngot hi\r\n' });
  expect(await terminals(client, threadId)).toEqual([]);
});

test('one that runs on is listed, shown as running, and ended by its number', async () => {
  const server = await startApp();
  const { client, threadId } = await withThread(server);
  const { turn, pid } = await leftRunning(server, client, threadId);
  expect(turn.status).toBe('completed');
  const [terminal, ...others] = await terminals(client, threadId);
  expect(others).toEqual([]);
  const [running] = await commandsOf(client, threadId);
  expect(running).toMatchObject({ status: 'inProgress', exitCode: null });
  expect(terminal).toMatchObject({ itemId: running!.id, processId: running!.processId, cwd: server.workspace });
  expect(terminal!.command).toMatch(/^echo \$\$/);

  const { processId } = terminal!;
  const end = (id: string) => client.request('thread/backgroundTerminals/terminate', { threadId, processId: id });
  expect(await end('1')).toEqual({ terminated: false });
  expect(isRunning(pid)).toBe(true);
  expect(await end(processId)).toEqual({ terminated: true });
  expect(isRunning(pid)).toBe(false);
  const ended = { status: 'failed', exitCode: -1, aggregatedOutput: 'begun\r\n' };
  expect(await itemCompleted(client, isCommand)).toMatchObject(ended);
  expect((await commandsOf(client, threadId))[0]).toMatchObject(ended);
  expect(await end(processId)).toEqual({ terminated: false });
});

test('all of a thread are ended at once, and those of another thread go on', async () => {
  const server = await startApp();
  const { client, threadId } = await withThread(server);
  const first = await leftRunning(server, client, threadId);
  const second = await leftRunning(server, client, threadId);
  const other = await startThread(client, { ...FULL, cwd: server.workspace });
  const third = await leftRunning(server, client, other);
  const page = await client.request('thread/backgroundTerminals/list', { threadId, limit: 1 });
  expect(page).toMatchObject({ data: [expect.anything()], nextCursor: expect.any(String) });
  expect(await client.request('thread/backgroundTerminals/clean', { threadId })).toEqual({});
  expect([first, second, third].map(({ pid }) => isRunning(pid))).toEqual([false, false, true]);
  expect(await terminals(client, threadId)).toEqual([]);
  expect(await terminals(client, other)).toHaveLength(1);
});

test('an interrupt ends what the turn has left running, and nothing of earlier turns', async () => {
  const server = await startApp();
  const { client, threadId } = await withThread(server);
  const earlier = await leftRunning(server, client, threadId);
  const file = join(server.workspace, 'deaf');
  const turnId = await startTurn(
    client,
    threadId,
    `leave trap '' TERM INT; echo $$ > ${file}; while :; do sleep 0.05; done\nhang`,
  );
  const [pid] = await pidsIn(file, 1);
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
  expect([earlier.pid, pid!].map(isRunning)).toEqual([true, false]);
  expect((await completed(client, turnId)).status).toBe('interrupted');
  const [begun] = client.news('item/started').filter(({ item, turnId: of }) => isCommand(item) && of === turnId);
  const order = client.transcript
    .filter(({ method }) => method === 'item/completed' || method === 'turn/completed')
    .map(({ params }) => params.item?.id ?? params.turn.id);
  expect(order.indexOf(begun!.item.id)).toBeGreaterThan(-1);
  expect(order.indexOf(begun!.item.id)).toBeLessThan(order.indexOf(turnId));
  expect(await terminals(client, threadId)).toHaveLength(1);
});

describe('gone with the thread', () => {
  test.each([
    ['archive', 'thread/archive'],
    ['delete', 'thread/delete'],
  ])('%s', async (_, method) => {
    const server = await startApp();
    const { client, threadId } = await withThread(server);
    const { pid } = await leftRunning(server, client, threadId);
    await client.request(method, { threadId });
    expect(isRunning(pid)).toBe(false);
    expect(await itemCompleted(client, isCommand)).toMatchObject({ status: 'failed' });
  });

  test('the turn is taken back', async () => {
    const server = await startApp();
    const { client, threadId } = await withThread(server);
    const { pid, turn } = await leftRunning(server, client, threadId);
    await client.request('thread/revert', { threadId, beforeTurnId: turn.id });
    expect(isRunning(pid)).toBe(false);
    expect((await runTurn(client, threadId, 'say on')).status).toBe('completed');
  });

  test('the server stops: the item is complete afterwards', async () => {
    const server = await startApp();
    const { client, threadId } = await withThread(server);
    const { pid } = await leftRunning(server, client, threadId);
    await server.restart();
    expect(isRunning(pid)).toBe(false);
    const later = await server.connect({ experimentalApi: true });
    expect((await commandsOf(later, threadId))[0]).toMatchObject({ status: 'failed', aggregatedOutput: 'begun\r\n' });
    expect(await terminals(later, threadId)).toEqual([]);
  });

  test('the server is killed: what was shown is there, and the outcome is not known', async () => {
    const server = await startApp();
    const { client, threadId } = await withThread(server);
    await leftRunning(server, client, threadId);
    const after = await server.afterKill();
    const later = await after.connect({ experimentalApi: true });
    const unknown = { status: 'failed', outcome: 'unknown', exitCode: null, aggregatedOutput: 'begun\r\n' };
    expect((await commandsOf(later, threadId))[0]).toMatchObject(unknown);
    expect(await terminals(later, threadId)).toEqual([]);
    await later.request('thread/resume', { threadId });
    expect((await runTurn(later, threadId, 'look')).status).toBe('completed');
  });
});

test('a copy of the thread has none of its commands', async () => {
  const server = await startApp();
  const { client, threadId } = await withThread(server);
  const { pid } = await leftRunning(server, client, threadId);
  const { thread } = await client.request('thread/fork', { threadId });
  expect(await terminals(client, thread.id)).toEqual([]);
  expect((await commandsOf(client, thread.id))[0]).toMatchObject({ status: 'failed', outcome: 'unknown' });
  expect(isRunning(pid)).toBe(true);
  expect((await commandsOf(client, threadId))[0]).toMatchObject({ status: 'inProgress' });
});

test('no more than 64 run in a thread; the rest is refused to the model', async () => {
  const server = await startApp();
  const { client, threadId } = await withThread(server);
  const script = Array.from({ length: 66 }, () => 'run sleep 600').join('\n');
  const turnId = await startTurn(client, threadId, script);
  await client.notified('item/completed', ({ item }) => item.status === 'declined');
  await client.request('turn/interrupt', { threadId, turnId });
  await completed(client, turnId);
  const statuses = (await commandsOf(client, threadId)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 'failed')).toHaveLength(64);
});

test('an interrupt ends what the turn has left running, also when only a command of the user keeps the turn open', async () => {
  const server = await startApp();
  const { client, threadId } = await withThread(server);
  const file = join(server.workspace, 'pids');
  const turnId = await startTurn(client, threadId, `leave echo $$ > ${file}; while :; do sleep 60; done`);
  await client.request('thread/shellCommand', { threadId, command: 'while :; do sleep 60; done' });
  await itemCompleted(client, ({ type }) => type === 'agentMessage');
  const [pid] = await pidsIn(file, 1);
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
  expect(isRunning(pid!)).toBe(false);
  expect(await terminals(client, threadId)).toEqual([]);
});
