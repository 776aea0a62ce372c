// What a model types into a running command: it can be any command, so people are asked as they are about commands.

import { afterEach, describe, expect, test } from 'vitest';
import { trySandbox } from '../harness/sandbox.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Question, TestClient } from '../harness/test-client.ts';
import { completed, startThread, startTurn } from '../harness/turns.ts';

const state = await trySandbox();
if (!state.isAvailable) console.warn(`SKIPPED in part, no sandbox here: ${state.reason}; ${state.advice}`);

afterEach(cleanUp);

async function setting(thread: object = {}) {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const settings = { cwd: server.workspace, sandbox: 'workspace-write', approvalPolicy: 'on-request' };
  const threadId = await startThread(client, { ...settings, ...thread });
  const begin = (script: string) => startTurn(client, threadId, script);
  return { server, client, threadId, begin };
}

const isTyped = ({ kind }: { kind?: string }) => kind === 'writeStdin';
const asked = (client: TestClient, kind: 'command' | 'writeStdin'): Promise<Question> =>
  client.asked((params) => params.kind === kind);
const typed = (client: TestClient): string[] =>
  client
    .news('item/commandExecution/terminalInteraction')
    .map(({ stdin }) => stdin)
    .filter((stdin) => stdin !== '' && stdin !== '\u0003');

describe('into a command outside the sandbox', () => {
  test('is asked about with what would be typed, and typed once it is accepted', async () => {
    const { client, threadId, begin } = await setting();
    const turnId = await begin('leave! cat\ntype hello\nstop');
    const command = await asked(client, 'command');
    command.answer({ decision: 'accept' });
    const question = await asked(client, 'writeStdin');
    expect(question.params).toMatchObject({
      ...{ threadId, turnId, itemId: command.params.itemId, command: expect.stringContaining('write_stdin') },
      reason: expect.stringContaining(command.params.command),
      availableDecisions: ['accept', 'acceptForSession', 'decline', 'cancel'],
      approvalId: question.params.heddle.approvalId,
      heddle: { sandbox: 'bare', stdin: 'hello\n' },
    });
    expect(typed(client)).toEqual([]);
    question.answer({ decision: 'accept' });
    expect((await completed(client, turnId)).status).toBe('completed');
    expect(typed(client)).toEqual(['hello\n']);
  });

  test.each<[string, object]>([
    ['a refusal', { result: { decision: 'decline' } }],
    ['a wrong shape', { result: { decision: 'approved' } }],
    ['a rule', { result: { decision: { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['cat'] } } } }],
    ['an error', { error: { code: 1, message: 'no' } }],
  ])('is not typed after %s', async (_, answer) => {
    const { client, begin } = await setting();
    const turnId = await begin('leave! cat\ntype hello\nstop');
    (await asked(client, 'command')).answer({ decision: 'accept' });
    client.send({ id: (await asked(client, 'writeStdin')).id, ...answer });
    expect((await completed(client, turnId)).status).toBe('completed');
    expect(typed(client)).toEqual([]);
  });

  test('accepted for the session, it is not asked about again for this command, and for another it is', async () => {
    const { client, begin } = await setting();
    const turnId = await begin('leave! cat\ntype one\ntype two\nstop\nleave! cat\ntype three\nstop');
    (await asked(client, 'command')).answer({ decision: 'accept' });
    (await asked(client, 'writeStdin')).answer({ decision: 'acceptForSession' });
    const other = await client.asked((params) => params.kind === 'command' && client.questions().length === 3);
    expect(typed(client)).toEqual(['one\n', 'two\n']);
    other.answer({ decision: 'accept' });
    const again = await client.asked((params) => isTyped(params) && params.heddle.stdin === 'three\n');
    again.answer({ decision: 'decline' });
    await completed(client, turnId);
    expect(typed(client)).toEqual(['one\n', 'two\n']);
  });

  test('an interrupt ends the question and the command, and nothing is typed', async () => {
    const { client, threadId, begin } = await setting();
    const turnId = await begin('leave! cat\ntype hello');
    (await asked(client, 'command')).answer({ decision: 'accept' });
    const question = await asked(client, 'writeStdin');
    await client.request('turn/interrupt', { threadId, turnId });
    expect((await completed(client, turnId)).status).toBe('interrupted');
    question.answer({ decision: 'accept' });
    await client.settled();
    expect(typed(client)).toEqual([]);
  });

  test('a stop of the server ends its turn: the command is gone', async () => {
    const { server, client, threadId, begin } = await setting();
    const turnId = await begin('leave! cat\ntype hello');
    (await asked(client, 'command')).answer({ decision: 'accept' });
    await asked(client, 'writeStdin');
    await server.restart();
    const later = await server.connect();
    await later.request('thread/resume', { threadId });
    const { data } = await later.request('thread/turns/list', { threadId });
    expect(data[0]).toMatchObject({ id: turnId, status: 'interrupted' });
    expect(later.questions()).toEqual([]);
  });
});

test('with full access nobody is asked', async () => {
  const { client, begin } = await setting({ sandbox: 'danger-full-access', approvalPolicy: 'never' });
  await completed(client, await begin('leave cat\ntype hello\nstop'));
  expect(client.questions()).toEqual([]);
  expect(typed(client)).toEqual(['hello\n']);
});

describe.skipIf(!state.isAvailable)('into a command in the sandbox', () => {
  test.each([
    ['on-request', 0],
    ['untrusted', 1],
  ])('under %s, questions: %d', async (approvalPolicy, count) => {
    const { client, begin } = await setting({ approvalPolicy });
    const turnId = await begin('leave cat\ntype hello\nstop');
    if (approvalPolicy === 'untrusted') {
      (await asked(client, 'command')).answer({ decision: 'accept' });
      (await asked(client, 'writeStdin')).answer({ decision: 'accept' });
    }
    await completed(client, turnId);
    expect(client.questions().filter(({ params }) => isTyped(params))).toHaveLength(count);
    expect(typed(client)).toEqual(['hello\n']);
  });
});
