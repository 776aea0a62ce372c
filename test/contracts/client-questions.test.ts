// What the client library answers when the server asks: the handler's answer, or a refusal with a reason.

import { afterEach, expect, test } from 'vitest';
import { deferred } from '../../src/base/signals.ts';
import type { QuestionHandlers } from '../../src/client/question-handlers.ts';
import type { Refusal } from '../../src/client/questions.ts';
import { clientOf, closeClients, HostileServer } from '../harness/hostile-server.ts';

afterEach(closeClients);

const METHOD = 'item/fileChange/requestApproval';
const EVIDENCE = {
  approvalId: 'a',
  operationDigest: 'o',
  policyDigest: 'p',
  workspaceDigest: 'w',
  nonce: 'n',
  risk: { level: 'low', text: 'r' },
  expiresAt: 1,
};
const PARAMS = {
  threadId: 't',
  turnId: 'u',
  itemId: 'i',
  startedAtMs: 1,
  reason: null,
  grantRoot: null,
  availableDecisions: ['accept', 'decline'],
  heddle: { ...EVIDENCE, changes: [], targets: [], cwd: '/', rule: 'r', sandbox: 'bare' },
};

async function asking(onServerRequest: QuestionHandlers) {
  const { client, line } = await clientOf(new HostileServer(), { onServerRequest });
  const refusals: Refusal[] = [];
  client.on('refused', (refusal) => refusals.push(refusal));
  return { client, line, refusals };
}

test('a handler is given what was asked, and its answer is sent', async () => {
  const { line, refusals } = await asking({
    [METHOD]: async ({ itemId }) => ({ decision: itemId === 'i' ? 'accept' : 'decline' }),
  });
  line.say({ id: 7, method: METHOD, params: PARAMS });
  expect(await line.next()).toEqual({ id: 7, result: { decision: 'accept' } });
  expect(refusals).toEqual([]);
});

test.each([
  ['no handler', {}, 'noHandler'],
  [
    'a handler that throws',
    {
      [METHOD]: () => {
        throw new Error('defect');
      },
    },
    'threw',
  ],
  ['a handler that rejects', { [METHOD]: async () => Promise.reject(new Error('defect')) }, 'threw'],
  ['an answer in the wrong shape', { [METHOD]: () => ({ decision: 'yes' }) }, 'answer'],
  ['no answer at all', { [METHOD]: () => undefined }, 'answer'],
] as unknown as [string, QuestionHandlers, Refusal['because']][])(
  'with %s it is refused',
  async (_why, handlers, because) => {
    const { line, refusals } = await asking(handlers);
    line.say({ id: 'x', method: METHOD, params: PARAMS });
    expect(await line.next()).toEqual({ id: 'x', result: { decision: 'decline' } });
    expect(refusals).toMatchObject([{ method: METHOD, because }]);
  },
);

test('a question that cannot be read is refused without its handler', async () => {
  let calls = 0;
  const { line, refusals } = await asking({
    [METHOD]: () => {
      calls += 1;
      return { decision: 'accept' };
    },
  });
  line.say({ id: 1, method: METHOD, params: { ...PARAMS, itemId: 7 } }, { id: 2, method: METHOD });
  expect([await line.next(), await line.next()].map(({ result }) => result)).toEqual(
    Array(2).fill({ decision: 'decline' }),
  );
  expect(refusals.map(({ because }) => because)).toEqual(['params', 'params']);
  expect(calls).toBe(0);
});

test('an unknown question is an error that says so, and others have a form of refusal of their own', async () => {
  const { line } = await asking({});
  line.say({ id: 1, method: 'some/thing', params: {} });
  expect(await line.next()).toMatchObject({
    id: 1,
    error: { code: -32601, message: 'Unsupported server request some/thing: no handler answers it here' },
  });
  line.say({ id: 2, method: 'item/tool/call', params: {} });
  expect(await line.next()).toMatchObject({
    result: { success: false, contentItems: [{ text: 'no handler answers it here' }] },
  });
  line.say({ id: 3, method: 'item/permissions/requestApproval', params: {} });
  expect(await line.next()).toMatchObject({ result: { permissions: {}, scope: 'turn' } });
  line.say({ id: 4, method: 'item/tool/requestUserInput', params: {} });
  expect(await line.next()).toMatchObject({ error: { code: -32601 } });
});

test('a question that is repeated while it stands has one handler; one resolved elsewhere aborts it', async () => {
  let calls = 0;
  const { client, line } = await asking({});
  client.onServerRequest(METHOD, (_params, signal) => {
    calls += 1;
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('resolved')));
    });
  });
  line.say({ id: 9, method: METHOD, params: PARAMS }, { id: 9, method: METHOD, params: PARAMS });
  line.say({ method: 'serverRequest/resolved', params: { threadId: 't', requestId: 9 } });
  const answers = [await line.next(), await line.next()];
  expect(answers).toEqual(Array(2).fill({ id: 9, result: { decision: 'decline' } }));
  expect(calls).toBe(1);
});

test('a handler may come later and go again; a listener that is told of notifications gets them as they are', async () => {
  const { client, line, refusals } = await asking({});
  const off = client.onServerRequest(METHOD, () => ({ decision: 'acceptForSession' }));
  line.say({ id: 1, method: METHOD, params: PARAMS });
  expect(await line.next()).toMatchObject({ result: { decision: 'acceptForSession' } });
  off();
  line.say({ id: 2, method: METHOD, params: PARAMS });
  expect(await line.next()).toMatchObject({ result: { decision: 'decline' } });
  expect(refusals).toHaveLength(1);
  const heard = new Promise((resolve) => client.on('notification', resolve));
  line.say({ method: 'x/y', params: { z: 1 }, emittedAtMs: 5 });
  expect(await heard).toEqual({ method: 'x/y', params: { z: 1 }, emittedAtMs: 5 });
});

test('a flood of questions is bounded, and does not hold up answers', async () => {
  const { client, line } = await asking({ [METHOD]: () => new Promise(() => {}) });
  for (let id = 1; id <= 257; id += 1) line.say({ id, method: METHOD, params: PARAMS });
  expect(await line.next()).toMatchObject({ id: 257, error: { code: -32001 } });
  const asked = client.request('thread/unsubscribe', { threadId: 't' });
  line.say({ id: (await line.asked('thread/unsubscribe')).id, result: { status: 'notLoaded' } });
  await asked;
});

test('a cut aborts what was asked on that connection', async () => {
  const server = new HostileServer();
  const aborted = deferred();
  const { line } = await clientOf(server, {
    onServerRequest: {
      [METHOD]: (_params, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted.resolve();
            reject(new Error('cut'));
          });
        }),
    },
  });
  line.say({ id: 9, method: METHOD, params: PARAMS });
  line.cut();
  await aborted.promise;
});

test('a program that only looks is shown every question, known or not, and answers none', async () => {
  const seen: unknown[] = [];
  const questionWatcher = (method: string, params: unknown) => {
    seen.push([method, params]);
    throw new Error('defect');
  };
  const { client, line } = await clientOf(new HostileServer(), { questionWatcher });
  line.say({ id: 7, method: METHOD, params: { wrong: 'shape' } });
  line.say({ id: 8, method: 'item/unheardOf', params: {} });
  line.say({ id: 9, method: METHOD, params: PARAMS });
  const said = new Promise((resolve) => client.on('notification', resolve));
  line.say({ method: 'thread/closed', params: { threadId: 't' } });
  await said;
  const asked = client.request('thread/read', { threadId: 't' }).catch(() => 'over');
  expect(await line.next()).toMatchObject({ method: 'thread/read' });
  expect(seen).toEqual([
    [METHOD, { wrong: 'shape' }],
    ['item/unheardOf', {}],
    [METHOD, PARAMS],
  ]);
  await client.close();
  expect(await asked).toBe('over');
});
