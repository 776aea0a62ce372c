// An approval with nobody there: it waits, is answered by whoever comes, or ends by other means; it is never lost.

import { afterEach, describe, expect, test } from 'vitest';
import { askedTurn } from '../harness/approvals.ts';
import { liveAnswer } from '../harness/live-answer.ts';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

test('a connection that is lost is no answer: the question comes again and runs the command once', async () => {
  const server = await startApp({ transport: 'websocket' });
  const first = await server.connect();
  const turn = await askedTurn(server, first);
  first.wire.cut();
  await first.wire.closed;
  const second = await server.connect();
  expect(await turn.runs()).toBe(0);
  const { thread } = await second.request('thread/resume', { threadId: turn.threadId });
  expect(thread.status).toEqual({ type: 'active', activeFlags: ['waitingOnApproval'] });
  const again = await second.asked();
  expect(again.params).toEqual(turn.question.params);
  again.answer({ decision: 'accept' });
  expect((await completed(second, turn.turnId)).status).toBe('completed');
  expect(second.news('item/completed').map(({ item }) => item.type)).toContain('commandExecution');
  expect(await turn.runs()).toBe(1);
});

describe('a question that is asked when everyone has gone', () => {
  /** A turn whose model asks for a command only after its client has left. */
  async function abandoned(config: Record<string, unknown> = {}, params: object = {}) {
    const answer = liveAnswer();
    const model = await startModelServer(answer.step, stream(responses.say('the end')));
    const clock = new ManualClock();
    const server = await startApp({ backend: model, config, clock });
    const client = await server.connect();
    const watcher = await server.connect();
    const threadId = await startThread(client, params);
    const turnId = await startTurn(client, threadId, 'go on without me');
    await answer.asked;
    client.wire.end();
    await client.wire.closed;
    const call = { cmd: 'echo x', sandbox_permissions: 'require_escalated', justification: 'May I?' };
    await answer.write(responses.created(), responses.call('call_1', 'exec_command', call), responses.completed());
    return { server, clock, model, watcher, threadId, turnId };
  }

  const waits = (flags: string[]) => (each: { readonly [member: string]: unknown }) =>
    JSON.stringify(each.status).includes(JSON.stringify({ type: 'active', activeFlags: flags }));

  test('still stands ten minutes later, is seen in the list, and can be answered', async () => {
    const { server, clock, model, watcher, threadId, turnId } = await abandoned();
    await watcher.notified('thread/status/changed', waits(['waitingOnApproval']));
    clock.advance(600_000);
    const late = await server.connect();
    const { data } = await late.request('thread/list', {});
    expect(data[0].status).toEqual({ type: 'active', activeFlags: ['waitingOnApproval'] });
    await late.request('thread/resume', { threadId });
    (await late.asked()).answer({ decision: 'accept' });
    expect((await completed(late, turnId)).status).toBe('completed');
    expect(JSON.stringify(model.requests[1]!.body)).toContain('Process exited with code 0');
    await model.close();
  });

  test('is ended by an interrupt of a new client', async () => {
    const { server, model, watcher, threadId, turnId } = await abandoned();
    await watcher.notified('thread/status/changed', waits(['waitingOnApproval']));
    const late = await server.connect();
    expect(await late.request('turn/interrupt', { threadId, turnId })).toEqual({ physicallySettled: true });
    await watcher.notified('thread/status/changed', ({ status }) => status.type === 'idle');
    await late.request('thread/resume', { threadId });
    const { data } = await late.request('thread/turns/list', { threadId });
    expect(data[0].status).toBe('interrupted');
    const [, command] = await itemsOf(late, threadId);
    expect(command).toMatchObject({ type: 'commandExecution', status: 'declined' });
    expect(late.questions()).toEqual([]);
    await model.close();
  });

  test('is declined at once where the operator wants that, and the model is told why', async () => {
    const { server, model, threadId } = await abandoned({ unattended: 'decline' });
    await model.received(2);
    expect(JSON.stringify(model.requests[1]!.body)).toContain('nobody is there to answer');
    const late = await server.connect();
    await late.request('thread/resume', { threadId });
    expect((await itemsOf(late, threadId))[1]).toMatchObject({ type: 'commandExecution', status: 'declined' });
    await model.close();
  });

  test('is not asked where the policy is never to ask, and the model is told why', async () => {
    const { model } = await abandoned({}, { approvalPolicy: 'never' });
    await model.received(2);
    expect(JSON.stringify(model.requests[1]!.body)).toContain('the approval policy is never to ask');
    await model.close();
  });

  test('expires as a refusal when its time is over', async () => {
    const { server, clock, model, watcher, threadId } = await abandoned({ approval_timeout_seconds: 60 });
    await watcher.notified('thread/status/changed', waits(['waitingOnApproval']));
    clock.advance(60_000);
    await model.received(2);
    expect(JSON.stringify(model.requests[1]!.body)).toContain('expired');
    const late = await server.connect();
    await late.request('thread/resume', { threadId });
    expect((await itemsOf(late, threadId))[1]).toMatchObject({ status: 'declined' });
    await model.close();
  });
});

test('someone who listens without the permission to answer is not somebody to ask', async () => {
  const server = await startApp({ config: { unattended: 'decline' } });
  const { localPrincipal } = await import('../../src/auth/principal.ts');
  const permissions = new Set([...localPrincipal.permissions].filter((each) => each !== 'approval:resolve'));
  const reader = await server.connectAs({ ...localPrincipal, permissions });
  const threadId = await startThread(reader);
  await runTurn(reader, threadId, 'run! echo x');
  expect(reader.questions()).toEqual([]);
  const [, command] = await itemsOf(reader, threadId);
  expect(command).toMatchObject({ status: 'declined' });
});
