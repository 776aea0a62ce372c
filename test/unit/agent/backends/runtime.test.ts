// The turn loop on a scripted model: items, context, tool calls, steering, interruption.

import { expect, test } from 'vitest';
import type { Backend, CommandResult, Model, ToolHost, TurnRequest } from '../../../../src/agent/backend.ts';
import { createTurnRuntime } from '../../../../src/agent/backends/runtime.ts';
import type { ModelClient } from '../../../../src/agent/models/client.ts';
import { AppError } from '../../../../src/base/errors.ts';
import { deferred, unlessAborted } from '../../../../src/base/signals.ts';
import {
  type Answer,
  answers,
  call,
  contextIn,
  finished,
  house,
  hurriedClock,
  message,
  outcome,
  ran,
  scriptedClient,
  steering,
  turnOf,
  userSays,
} from './turn.ts';

const never = new AbortController().signal;
const models = async (): Promise<readonly Model[]> => [];

const backendOn = (client: ModelClient): Backend =>
  createTurnRuntime({
    route: () => ({ client, retries: { request: 0, stream: 1 }, conceal: (text) => text }),
    models,
    clock: hurriedClock(),
    random: () => 0.5,
  });

const run = (client: ModelClient, turn: TurnRequest, tools: ToolHost = house(), signal = never) =>
  outcome(backendOn(client).run(turn, tools, signal));

/** Says a piece and then nothing more. */
const stalls = (text: string, then: () => void): Answer =>
  async function* (_, signal) {
    yield [
      { type: 'messageStarted', id: 'msg_1', phase: null },
      { type: 'text', parts: [text] },
    ];
    queueMicrotask(then);
    await unlessAborted(new Promise(() => {}), signal);
  };

test('a message is begun, streamed, completed and remembered', async () => {
  const client = scriptedClient(answers(...message('hello', 'msg_1')));
  const { events } = await run(client, turnOf([userSays('hi')]));
  expect(events).toEqual([
    { type: 'messageStarted', itemId: 'msg_1', phase: null },
    { type: 'text', itemId: 'msg_1', parts: ['hello'] },
    { type: 'messageCompleted', itemId: 'msg_1', text: 'hello' },
    { type: 'contextAdded', items: [{ type: 'assistant', id: 'msg_1', text: 'hello', phase: null }] },
  ]);
  expect(client.asked[0]).toMatchObject({ model: 'scripted-model', instructions: 'be good', cacheKey: 'thread-1' });
});

test('reasoning keeps both texts, its seal and its provider', async () => {
  const client = scriptedClient(
    answers(
      { type: 'reasoningStarted', id: 'rs_1' },
      { type: 'summaryPartAdded', index: 0 },
      { type: 'summaryText', index: 0, parts: ['pl', 'an'] },
      { type: 'reasoningText', index: 0, parts: ['raw'] },
      { type: 'reasoningCompleted', summary: ['plan'], content: ['raw'], sealed: 'blob' },
    ),
  );
  const { events } = await run(client, turnOf([userSays('hi')]));
  expect(contextIn(events)).toEqual([
    { type: 'reasoning', id: 'rs_1', summary: ['plan'], content: ['raw'], provider: 'scripted', sealed: 'blob' },
  ]);
  expect(events.map((event) => event.type)).toEqual([
    'reasoningStarted',
    'summaryPartAdded',
    'summaryText',
    'reasoningText',
    'reasoningCompleted',
    'contextAdded',
  ]);
});

test('calls are stored before they are made, made side by side, and answered as they end', async () => {
  const slow = deferred<CommandResult>();
  const tools = house((command) => (command.line === 'slow' ? slow.promise : ran('quick')));
  const client = scriptedClient(
    answers(call('a', 'exec_command', { cmd: 'slow' }), call('b', 'exec_command', { cmd: 'quick', workdir: 'sub' })),
    answers(...message('done')),
  );
  const seen: string[] = [];
  for await (const batch of backendOn(client).run(turnOf([userSays('go')]), tools, never)) {
    for (const item of contextIn(batch)) {
      seen.push('callId' in item ? `${item.type} ${item.callId}` : item.type);
      if (item.type === 'toolCall') expect(tools.commands).toEqual([]);
      if (item.type === 'toolOutput' && item.callId === 'b') slow.resolve(ran('slow', 3));
    }
  }
  expect(seen).toEqual(['toolCall a', 'toolCall b', 'toolOutput b', 'toolOutput a', 'assistant']);
  expect(tools.commands.map(({ item, command }) => [item, command.line, command.cwd])).toEqual([
    ['a', 'slow', '/workspace'],
    ['b', 'quick', '/workspace/sub'],
  ]);
  expect(client.asked[1]?.context).toContainEqual(
    expect.objectContaining({ callId: 'a', success: false, output: expect.stringContaining('exited with code 3') }),
  );
});

test('what cannot be called is told to the model and makes no item', async () => {
  const tools = house();
  const client = scriptedClient(
    answers(call('a', 'exec_command', '{"cmd":'), call('b', 'exec_command', { cmd: 7 }), call('c', 'no_such_tool', {})),
    answers(),
  );
  const { events } = await run(client, turnOf([userSays('go')]), tools);
  expect(tools.commands).toEqual([]);
  const outputs = contextIn(events).filter((item) => item.type === 'toolOutput');
  expect(outputs.map((item) => item.success)).toEqual([false, false, false]);
  expect(outputs.map((item) => item.output).join('\n')).toMatch(/no JSON[\s\S]*do not fit[\s\S]*no tool no_such_tool/);
});

test('a refusal is told to the model and the turn goes on', async () => {
  const tools = house(() => ({ kind: 'refused', reason: 'rejected by user' }));
  const client = scriptedClient(answers(call('a', 'exec_command', { cmd: 'x' })), answers(...message('fine')));
  const { events, thrown } = await run(client, turnOf([userSays('go')]), tools);
  expect(thrown).toBeUndefined();
  expect(contextIn(events)).toContainEqual(
    expect.objectContaining({ type: 'toolOutput', output: expect.stringContaining('rejected by user') }),
  );
});

test('an approval that ends the turn ends it, whatever else runs', async () => {
  const tools = house((command) => (command.line === 'no' ? { kind: 'cancelled' } : new Promise(() => {})));
  const client = scriptedClient(
    answers(call('a', 'exec_command', { cmd: 'waits' }), call('b', 'exec_command', { cmd: 'no' })),
  );
  const { thrown } = await run(client, turnOf([userSays('go')]), tools);
  expect(thrown).toMatchObject({ kind: 'cancelled', data: { kind: 'turn_cancelled' } });
});

test('a long output keeps its head and tail', async () => {
  const tools = house(() => ran(`begin${'x'.repeat(200_000)}end`));
  const client = scriptedClient(answers(call('a', 'exec_command', { cmd: 'x' })), answers());
  const { events } = await run(client, turnOf([userSays('go')]), tools);
  const output = contextIn(events).flatMap((item) => (item.type === 'toolOutput' ? [item.output] : []))[0] ?? '';
  expect(output).toMatch(/Output:\nbegin[\s\S]*tokens left out[\s\S]*end$/);
  expect(output.length).toBeLessThan(42_000);
});

test('escalation, its reason and the time limit reach the house', async () => {
  const tools = house();
  const args = { cmd: 'x', sandbox_permissions: 'require_escalated', justification: 'why not', timeout_ms: 50 };
  await run(scriptedClient(answers(call('a', 'exec_command', args)), answers()), turnOf([userSays('go')]), tools);
  expect(tools.commands[0]?.command).toEqual({
    line: 'x',
    cwd: '/workspace',
    escalate: true,
    reason: 'why not',
    timeoutMs: 50,
    yieldMs: 10_000,
  });
});

test('a restart makes the calls that have no output, but none from before the last words of the user', async () => {
  const tools = house();
  const toolCall = (callId: string) => ({
    type: 'toolCall' as const,
    callId,
    name: 'exec_command',
    arguments: JSON.stringify({ cmd: callId }),
  });
  const client = scriptedClient(answers(...message('done')));
  const context = [
    userSays('first'),
    toolCall('old'),
    userSays('second'),
    toolCall('a'),
    toolCall('b'),
    { type: 'toolOutput' as const, callId: 'a', output: 'A', success: true },
  ];
  await run(client, turnOf(context), tools);
  expect(tools.commands.map(({ item }) => item)).toEqual(['b']);
  expect(client.asked).toHaveLength(1);
});

test('a call that the server has said to be stopped is not made', async () => {
  const tools = house();
  const context = [
    userSays('first'),
    { type: 'toolCall' as const, callId: 'a', name: 'exec_command', arguments: '{"cmd":"x"}' },
    { type: 'note' as const, text: 'the turn was stopped' },
  ];
  await run(scriptedClient(answers(...message('done'))), turnOf(context), tools);
  expect(tools.commands).toEqual([]);
});

test('ids that the thread has already are replaced', async () => {
  const client = scriptedClient(
    answers(...message('again', 'msg_1'), call('call_1', 'exec_command', { cmd: 'x' })),
    answers(),
  );
  const tools = house();
  const context = [
    { type: 'assistant' as const, id: 'msg_1', text: 'before', phase: null },
    { type: 'toolCall' as const, callId: 'call_1', name: 'exec_command', arguments: '{}' },
    { type: 'toolOutput' as const, callId: 'call_1', output: '', success: true },
    userSays('go'),
  ];
  const { events } = await run(client, turnOf(context), tools);
  expect(events[0]).toMatchObject({ type: 'messageStarted', itemId: expect.stringMatching(/^msg_.{20}/) });
  expect(tools.commands[0]?.item).toMatch(/^call_.{20}/);
});

test('steering stops the stream, keeps what was said, and asks again with the new words', async () => {
  const steered = steering();
  const client = scriptedClient(
    stalls('half a sen', () => steered.steer('be brief')),
    answers(...message('ok', 'msg_1')),
  );
  const { events } = await run(client, turnOf([userSays('talk')], { steering: steered }));
  expect(events).toContainEqual({ type: 'messageCompleted', itemId: 'msg_1', text: 'half a sen' });
  expect(client.asked[1]?.context).toEqual([
    userSays('talk'),
    { type: 'assistant', id: 'msg_1', text: 'half a sen', phase: null },
    userSays('be brief'),
  ]);
  expect(events.filter((event) => event.type === 'messageStarted')).toHaveLength(2);
});

test('steering while a command runs waits for it', async () => {
  const steered = steering();
  const tools = house(() => {
    steered.steer('also this');
    return ran('done');
  });
  const client = scriptedClient(answers(call('a', 'exec_command', { cmd: 'x' })), answers(...message('ok')));
  await run(client, turnOf([userSays('go')], { steering: steered }), tools);
  expect(client.asked[1]?.context.map((item) => item.type)).toEqual(['user', 'toolCall', 'toolOutput', 'user']);
});

test('steering that comes with the last event is still answered', async () => {
  const steered = steering();
  const client = scriptedClient(
    async function* () {
      yield message('first');
      steered.steer('more');
      yield [finished];
    },
    answers(...message('second')),
  );
  const { events } = await run(client, turnOf([userSays('go')], { steering: steered }));
  const texts = contextIn(events).flatMap((item) => (item.type === 'assistant' ? [item.text] : []));
  expect(texts).toEqual(['first', 'second']);
});

test('an interrupt is thrown as cancelled, after what was said', async () => {
  const abort = new AbortController();
  const client = scriptedClient(stalls('half', () => abort.abort()));
  const { events, thrown } = await run(client, turnOf([userSays('talk')]), house(), abort.signal);
  expect(thrown).toMatchObject({ kind: 'cancelled' });
  expect(events).toContainEqual({ type: 'messageCompleted', itemId: 'msg_1', text: 'half' });
});

test('an interrupt while a command runs does not wait for it, and none begins after it', async () => {
  const abort = new AbortController();
  const tools = house(() => {
    abort.abort();
    return new Promise<CommandResult>(() => {});
  });
  const client = scriptedClient(answers(call('a', 'exec_command', { cmd: 'x' })));
  const { thrown } = await run(client, turnOf([userSays('go')]), tools, abort.signal);
  expect(thrown).toMatchObject({ kind: 'cancelled' });
  const again = await run(client, turnOf([userSays('go')]), tools, abort.signal);
  expect(again.thrown).toMatchObject({ kind: 'cancelled' });
  expect(tools.commands).toHaveLength(1);
});

test('an answer that ran out of room fails the turn', async () => {
  const client = scriptedClient(async function* () {
    yield [...message('half'), { type: 'finished', reason: 'length' as const }];
  });
  const { events } = await run(client, turnOf([userSays('go')]));
  expect(events.at(-1)).toMatchObject({
    type: 'failed',
    error: { message: expect.stringContaining('max_output_tokens') },
  });
});

test('a provider that is not configured fails the turn in its own words', async () => {
  const backend = createTurnRuntime({
    route: (id) => {
      throw new AppError('unavailable', `there is no model provider ${id}`);
    },
    models,
  });
  const { events } = await outcome(backend.run(turnOf([userSays('go')]), house(), never));
  expect(events).toEqual([
    { type: 'failed', error: expect.objectContaining({ message: 'there is no model provider scripted' }) },
  ]);
});
