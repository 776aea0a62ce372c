// Questions of all threads, listed and answered by who was not asked: the same checks as for an answer over the connection.

import { afterEach, describe, expect, test } from 'vitest';
import { localPrincipal, type Permission, type Principal } from '../../src/auth/principal.ts';
import { askedTurn } from '../harness/approvals.ts';
import { callingModel } from '../harness/calling-model.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const CAPABLE = { experimentalApi: true };

const person = (...permissions: Permission[]): Principal => ({
  ...localPrincipal,
  subject: 'somebody',
  permissions: new Set(permissions),
});

/** A question that stands, and somebody who has not been asked. */
async function standing(options: Parameters<typeof startApp>[0] = {}) {
  const server = await startApp(options);
  const client = await server.connect();
  const turn = await askedTurn(server, client);
  const other = await server.connect(CAPABLE);
  const [pending] = (await other.request('approval/pending', {})).data;
  const answer = { approvalId: pending.approvalId, nonce: pending.nonce };
  return { server, client, turn, other, pending, answer };
}

const pendingOf = async (client: TestClient) => (await client.request('approval/pending', {})).data;

test('a pending question is told as it is asked, with what is needed to answer it', async () => {
  const { turn, pending } = await standing();
  const { heddle, availableDecisions } = turn.question.params;
  expect(pending).toMatchObject({
    ...{ approvalId: heddle.approvalId, nonce: heddle.nonce, expiresAt: heddle.expiresAt, availableDecisions },
    ...{ threadId: turn.threadId, turnId: turn.turnId, itemId: turn.question.params.itemId, kind: 'command' },
    method: turn.question.method,
    params: turn.question.params,
  });
});

test('an acceptance from elsewhere lets exactly this run, and those who were asked are told', async () => {
  const { client, turn, other, answer } = await standing();
  const reply = await other.request('approval/resolve', { ...answer, decision: 'accept' });
  expect(reply).toEqual({ approvalId: answer.approvalId, threadId: turn.threadId, status: 'answered' });
  await client.notified('serverRequest/resolved', ({ requestId }) => requestId === turn.question.id);
  expect((await completed(client, turn.turnId)).status).toBe('completed');
  expect(await turn.runs()).toBe(1);
  expect(await pendingOf(other)).toEqual([]);
});

test.each(['decline', 'cancel'])('%s from elsewhere is a refusal', async (decision) => {
  const { client, turn, other, answer } = await standing();
  await other.request('approval/resolve', { ...answer, decision });
  const { status } = await completed(client, turn.turnId);
  expect(status).toBe(decision === 'cancel' ? 'interrupted' : 'completed');
  expect(await turn.runs()).toBe(0);
});

describe('refused, and the question stands, is', () => {
  test.each<[string, object, object]>([
    ['a wrong nonce', { nonce: 'another' }, { code: -32009, data: { kind: 'wrong_nonce' } }],
    ['an unknown approval', { approvalId: 'unknown' }, { code: -32004, data: { kind: 'not_found' } }],
    ['a decision that was not offered', { decision: 'approved' }, { code: -32602, data: { kind: 'invalid_params' } }],
    ['a rule in other words', { decision: amendment(['rm']) }, { code: -32602 }],
    ['a grant', { decision: { permissions: {}, scope: 'turn' } }, { code: -32602 }],
  ])('%s', async (_, params, error) => {
    const { turn, other, answer } = await standing();
    const refused = await other.refusal('approval/resolve', { ...answer, decision: 'accept', ...params });
    expect(refused).toMatchObject(error);
    expect(await pendingOf(other)).toHaveLength(1);
    expect(await turn.runs()).toBe(0);
  });

  test('an answer without the permission, and the list with it', async () => {
    const { server, answer } = await standing();
    const reader = await server.connectAs(person('thread:read', 'thread:write'), CAPABLE);
    const refused = await reader.refusal('approval/resolve', { ...answer, decision: 'accept' });
    expect(refused).toMatchObject({ code: -32600, data: { kind: 'forbidden' } });
    expect(await reader.refusal('approval/pending', {})).toMatchObject({ data: { kind: 'forbidden' } });
  });

  test("another tenant's, as if there were none", async () => {
    const { server, answer } = await standing();
    const stranger = await server.connectAs({ ...localPrincipal, tenant: 'other' }, CAPABLE);
    expect(await pendingOf(stranger)).toEqual([]);
    const refused = await stranger.refusal('approval/resolve', { ...answer, decision: 'accept' });
    expect(refused).toMatchObject({ code: -32004, message: expect.stringContaining('approval not found') });
  });

  test('a rule that somebody without the permission admin would have remembered', async () => {
    const { server, other, turn, answer } = await standing();
    const helper = await server.connectAs(person('thread:read', 'approval:resolve'), CAPABLE);
    const [shown] = await pendingOf(helper);
    expect(JSON.stringify(shown)).not.toContain('execpolicy');
    expect(JSON.stringify(shown)).not.toContain('Execpolicy');
    const decision = amendment(turn.question.params.proposedExecpolicyAmendment);
    const refused = await helper.refusal('approval/resolve', { ...answer, decision });
    expect(refused).toMatchObject({ data: { kind: 'forbidden' } });
    expect(await pendingOf(other)).toHaveLength(1);
  });

  test('the yes of somebody remote beyond the ceiling', async () => {
    const { server, answer, turn } = await standing();
    const remote = await server.connectAs({ ...person('thread:read', 'approval:resolve'), isLocal: false }, CAPABLE);
    const refused = await remote.refusal('approval/resolve', { ...answer, decision: 'accept' });
    expect(refused).toMatchObject({ data: { kind: 'forbidden' } });
    await remote.request('approval/resolve', { ...answer, decision: 'decline' });
    expect(await turn.runs()).toBe(0);
  });
});

test('one who may not change the rules is not offered to, one who may is', async () => {
  const server = await startApp();
  const [owner, helper] = [
    await server.connect(),
    await server.connectAs(person('thread:read', 'thread:write', 'approval:resolve')),
  ];
  const first = askedTurn(server, owner);
  const { threadId } = await first;
  await helper.request('thread/resume', { threadId });
  const [{ question }, shown] = [await first, await helper.asked()];
  const rule = amendment(question.params.proposedExecpolicyAmendment);
  expect(question.params.availableDecisions).toContainEqual(rule);
  expect(shown.id).toBe(question.id);
  expect(shown.params.availableDecisions).toEqual(['accept', 'acceptForSession', 'decline', 'cancel']);
  expect(shown.params).not.toHaveProperty('proposedExecpolicyAmendment');
});

test('one that has ended is told apart from one that never was, to who knows its nonce', async () => {
  const { client, turn, other, answer } = await standing();
  turn.question.answer({ decision: 'decline' });
  await completed(client, turn.turnId);
  const late = await other.refusal('approval/resolve', { ...answer, decision: 'accept' });
  expect(late).toMatchObject({ code: -32009, data: { kind: 'approval_ended' } });
  const blind = await other.refusal('approval/resolve', { ...answer, nonce: 'x', decision: 'accept' });
  expect(blind).toMatchObject({ code: -32004 });
  expect(await turn.runs()).toBe(0);
});

test('of two answers at once exactly one counts, and the other is told so', async () => {
  const { client, turn, other, answer } = await standing();
  const outcomes = await Promise.allSettled(
    ['accept', 'decline'].map((decision) => other.request('approval/resolve', { ...answer, decision })),
  );
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  await completed(client, turn.turnId);
  expect(await turn.runs()).toBe(outcomes[0]?.status === 'fulfilled' ? 1 : 0);
});

test('an idempotency key makes it once-only: the same answer again gives the same reply, another one is refused', async () => {
  const { client, turn, other, answer } = await standing();
  const params = { ...answer, decision: 'accept', idempotencyKey: 'once' };
  const reply = await other.request('approval/resolve', params);
  await completed(client, turn.turnId);
  expect(await other.request('approval/resolve', params)).toEqual(reply);
  const drift = await other.refusal('approval/resolve', { ...params, decision: 'decline' });
  expect(drift).toMatchObject({ code: -32009, data: { kind: 'idempotency_drift' } });
  expect(await turn.runs()).toBe(1);
});

test('the list goes over all threads, the oldest first, in pages that keep their place', async () => {
  const clock = new ManualClock();
  const server = await startApp({ clock });
  const client = await server.connect(CAPABLE);
  const turns = [];
  for (let made = 0; made < 5; made += 1) {
    turns.push(await askedTurn(server, client));
    clock.advance(10);
  }
  const ids = turns.map(({ question }) => question.params.heddle.approvalId);
  const first = await client.request('approval/pending', { limit: 2 });
  expect(first.data.map(({ approvalId }: { approvalId: string }) => approvalId)).toEqual(ids.slice(0, 2));
  turns[0]?.question.answer({ decision: 'decline' });
  await completed(client, turns[0]?.turnId ?? '');
  const rest = await client.request('approval/pending', { limit: 10, cursor: first.nextCursor });
  expect(rest.data.map(({ approvalId }: { approvalId: string }) => approvalId)).toEqual(ids.slice(2));
  expect(rest.nextCursor).toBeNull();
  const one = await client.request('approval/pending', { threadId: turns[3]?.threadId });
  expect(one.data).toMatchObject([{ approvalId: ids[3] }]);
});

test('after a restart it is listed before anybody has looked at its thread, and can be answered', async () => {
  const { server, turn, answer } = await standing();
  await server.restart();
  const client = await server.connect(CAPABLE);
  expect(await pendingOf(client)).toMatchObject([answer]);
  await client.request('approval/resolve', { ...answer, decision: 'accept' });
  await client.request('thread/resume', { threadId: turn.threadId });
  expect((await status(client, turn)).status).toBe('completed');
  expect(await turn.runs()).toBe(1);
});

test('one whose time is over is not answered any more', async () => {
  const clock = new ManualClock();
  const { client, turn, other, answer } = await standing({ clock, config: { approval_timeout_seconds: 100 } });
  clock.advance(100_000);
  const late = await other.refusal('approval/resolve', { ...answer, decision: 'accept' });
  expect(late).toMatchObject({ code: -32009, data: { kind: 'approval_ended' } });
  await completed(client, turn.turnId);
  expect(await turn.runs()).toBe(0);
});

test('requests for permissions and for input are listed and answered as well', async () => {
  const rig = await callingModel();
  const asking = ['request_permissions', { permissions: { network: { enabled: true } } }] as const;
  const { turnId } = await rig.ask(asking);
  const [permissions] = await pendingOf(rig.client);
  expect(permissions).toMatchObject({ kind: 'permissions', method: 'item/permissions/requestApproval' });
  const grant = { permissions: { network: { enabled: true } }, scope: 'turn' };
  await answerIt(rig.client, permissions, grant);
  await completed(rig.client, turnId);
  expect(rig.outputs()).toEqual([
    JSON.stringify({ permissions: { ...grant.permissions, file_system: null }, scope: 'turn' }),
  ]);

  const questions = [{ id: 'size', header: 'Size', question: 'Which size?' }];
  const plan = { collaborationMode: { mode: 'plan', settings: { model: 'scripted-model' } } };
  const input = await rig.ask(['request_user_input', { questions }], plan);
  const [question] = await pendingOf(rig.client);
  expect(question).toMatchObject({ kind: 'userInput' });
  expect(await rig.client.refusal('approval/resolve', { ...idOf(question), decision: 'accept' })).toMatchObject({
    code: -32602,
  });
  await answerIt(rig.client, question, { answers: { size: { answers: ['S'] } } });
  await completed(rig.client, input.turnId);
  expect(rig.outputs()).toEqual(['{"answers":{"size":{"answers":["S"]}}}']);
});

function amendment(words: readonly string[]) {
  return { acceptWithExecpolicyAmendment: { execpolicy_amendment: words } };
}

const idOf = ({ approvalId, nonce }: { approvalId: string; nonce: string }) => ({ approvalId, nonce });

const answerIt = (client: TestClient, pending: { approvalId: string; nonce: string }, decision: unknown) =>
  client.request('approval/resolve', { ...idOf(pending), decision });

/** A turn as the history has it, when it is over. */
async function status(client: TestClient, { threadId, turnId }: { threadId: string; turnId: string }) {
  for (;;) {
    const { data } = await client.request('thread/turns/list', { threadId });
    const turn = data.find(({ id }: { id: string }) => id === turnId);
    if (turn?.status !== 'inProgress') return turn;
    await client.notified('turn/completed');
  }
}
