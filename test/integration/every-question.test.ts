// Every kind of question behaves alike: with nobody there, cleared by other means, over a restart, and with everybody listening.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { localPrincipal, type Permission } from '../../src/auth/principal.ts';
import { type CallingModel, callingModel, type ToolUse } from '../harness/calling-model.ts';
import { cleanUp, type StartOptions, temporaryFolder } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

interface Kind {
  readonly name: string;
  readonly method: string;
  readonly flag: string;
  readonly use: (folder: string) => ToolUse;
  /** An answer that lets it go on. */
  readonly yes: (params: { permissions?: unknown }) => unknown;
  /** What the model is told when nobody said yes. */
  readonly refused: RegExp;
  /** What the model is told where nobody is there; of what a server asks it is told by the server. */
  readonly unattended?: RegExp;
  readonly turn?: object;
  readonly servers?: object;
  /** What asks is a process of ours: it is gone with the server. */
  readonly isPassing?: true;
}

const PLAN = { collaborationMode: { mode: 'plan', settings: { model: 'scripted-model' } } };

const DEMO = fileURLToPath(new URL('../../conformance/kit/mcp-server.mjs', import.meta.url));
const SERVERS = { demo: { command: process.execPath, args: [DEMO] } };
const ASKING = { demo: { ...SERVERS.demo, tools: { ask: { approval_mode: 'approve' } } } };

const KINDS: readonly Kind[] = [
  {
    name: 'a command',
    method: 'item/commandExecution/requestApproval',
    flag: 'waitingOnApproval',
    use: () => ['exec_command', { cmd: 'echo x', sandbox_permissions: 'require_escalated', justification: 'May I?' }],
    yes: () => ({ decision: 'accept' }),
    refused: /refused/,
  },
  {
    name: 'a change of files',
    method: 'item/fileChange/requestApproval',
    flag: 'waitingOnApproval',
    use: (folder) => ['apply_patch', { input: `*** Begin Patch\n*** Add File: ${folder}/a\n+x\n*** End Patch` }],
    yes: () => ({ decision: 'accept' }),
    refused: /refused/,
  },
  {
    name: 'permissions',
    method: 'item/permissions/requestApproval',
    flag: 'waitingOnApproval',
    use: (folder) => ['request_permissions', { permissions: { file_system: { write: [folder] } } }],
    yes: ({ permissions }) => ({ permissions, scope: 'turn' }),
    refused: /"file_system":null.*refusedBecause/,
  },
  {
    name: 'input',
    method: 'item/tool/requestUserInput',
    flag: 'waitingOnUserInput',
    use: () => ['request_user_input', { questions: [{ id: 'a', header: 'A', question: 'What?' }] }],
    yes: () => ({ answers: { a: { answers: ['that'] } } }),
    refused: /"answers":\{\}.*unansweredBecause/,
    turn: PLAN,
  },
  {
    name: 'a tool of an MCP server',
    method: 'mcpServer/elicitation/request',
    flag: 'waitingOnApproval',
    use: () => ['mcp__demo__write', { text: 'x' }],
    yes: () => ({ action: 'accept', content: {} }),
    refused: /nobody is there|expired/,
    servers: SERVERS,
  },
  {
    name: 'what an MCP server asks',
    method: 'mcpServer/elicitation/request',
    flag: 'waitingOnApproval',
    use: () => ['mcp__demo__ask', {}],
    yes: () => ({ action: 'accept', content: { name: 'Ann' } }),
    refused: /"decline/,
    unattended: /"decline/,
    servers: ASKING,
    isPassing: true,
  },
];

describe.each(KINDS)('a question about $name', (kind) => {
  const { method, flag, use, yes, refused, unattended = /nobody is there/, turn = {}, servers = {} } = kind;

  async function setting(options: StartOptions = {}) {
    const clock = new ManualClock();
    const config = { mcp_servers: servers, ...options.config };
    const rig = await callingModel({}, { clock, ...options, config });
    const folder = join(await temporaryFolder(), 'x');
    await mkdir(folder);
    const watcher = await rig.server.connect();
    return { rig, clock, watcher, call: use(folder) };
  }

  const waiting = (watcher: TestClient) =>
    watcher.notified('thread/status/changed', ({ status }) => status.activeFlags?.includes(flag));

  /** Its turn, with everybody gone who listened to the thread. */
  async function abandoned(options: StartOptions = {}) {
    const { rig, clock, watcher, call } = await setting(options);
    await rig.client.request('thread/unsubscribe', { threadId: rig.threadId });
    const turnId = await rig.begin([call], turn, rig.client);
    return { rig, clock, watcher, turnId };
  }

  async function joined(rig: CallingModel): Promise<TestClient> {
    const client = await rig.server.connect();
    await client.request('thread/resume', { threadId: rig.threadId });
    return client;
  }

  test('is asked of all who listen; the first answer counts and the others are told', async () => {
    const { rig, call } = await setting();
    const other = await joined(rig);
    const { turnId, question } = await rig.ask(call, turn);
    const same = await other.asked();
    expect([question.method, same.method]).toEqual([method, method]);
    expect({ id: same.id, params: same.params }).toEqual({ id: question.id, params: question.params });
    same.answer(yes(same.params));
    await rig.client.notified('serverRequest/resolved', ({ requestId }) => requestId === question.id);
    question.answer({ decision: 'decline' });
    expect((await completed(rig.client, turnId)).status).toBe('completed');
    expect(rig.outputs()[0]).not.toMatch(refused);
  });

  test('is seen in the list, and stands for who comes ten minutes later', async () => {
    const { rig, clock, watcher, turnId } = await abandoned();
    await waiting(watcher);
    clock.advance(600_000);
    const { data } = await watcher.request('thread/list', {});
    expect(data[0].status).toEqual({ type: 'active', activeFlags: [flag] });
    const late = await joined(rig);
    const question = await late.asked();
    question.answer(yes(question.params));
    expect((await completed(late, turnId)).status).toBe('completed');
    expect(rig.outputs()[0]).not.toMatch(refused);
  });

  test('is part of the thread for who may answer, as it is asked, and no more once it has ended', async () => {
    const { rig, watcher, turnId } = await abandoned();
    await waiting(watcher);
    const { threadId } = rig;
    const lister = await rig.server.connect({ experimentalApi: true });
    const [listed] = (await lister.request('approval/pending', {})).data;
    expect((await watcher.request('thread/read', { threadId })).pendingApprovals).toEqual([listed]);
    const late = await rig.server.connect();
    expect((await late.request('thread/resume', { threadId })).pendingApprovals).toEqual([listed]);
    const question = await late.asked();
    expect({ method: question.method, params: question.params }).toEqual({
      method: listed.method,
      params: listed.params,
    });
    expect(question.params.heddle.risk).toEqual({ level: expect.any(String), text: expect.any(String) });
    const reader = { ...localPrincipal, permissions: new Set<Permission>(['thread:read']) };
    const other = await rig.server.connectAs(reader);
    expect(await other.request('thread/read', { threadId })).not.toHaveProperty('pendingApprovals');
    question.answer(yes(question.params));
    await completed(late, turnId);
    expect((await late.request('thread/read', { threadId })).pendingApprovals).toEqual([]);
  });

  test('is ended by an interrupt of a new client', async () => {
    const { rig, watcher, turnId } = await abandoned();
    await waiting(watcher);
    const late = await joined(rig);
    const question = await late.asked();
    const ended = completed(late, turnId);
    expect(await late.request('turn/interrupt', { threadId: rig.threadId, turnId })).toEqual({
      physicallySettled: true,
    });
    expect((await ended).status).toBe('interrupted');
    expect(late.news('serverRequest/resolved')).toEqual([{ threadId: rig.threadId, requestId: question.id }]);
    expect((await joined(rig)).questions()).toEqual([]);
    expect(rig.model.requests).toHaveLength(1);
  });

  test('is declined at once where the operator wants that, and the model is told why', async () => {
    const { rig } = await abandoned({ config: { unattended: 'decline' } });
    await rig.model.received(2);
    expect(rig.outputs()[0]).toMatch(refused);
    expect(rig.outputs()[0]).toMatch(unattended);
  });

  test('expires as a refusal, and is told to be over', async () => {
    const { rig, clock, call } = await setting({ config: { approval_timeout_seconds: 60 } });
    const { turnId, question } = await rig.ask(call, turn);
    clock.advance(60_000);
    await rig.client.notified('serverRequest/resolved', ({ requestId }) => requestId === question.id);
    expect((await completed(rig.client, turnId)).status).toBe('completed');
    expect(rig.outputs()[0]).toMatch(refused);
  });

  if (kind.isPassing) return;

  test.each(['a polite stop', 'a kill'])('stands over %s, and its answer goes on with the turn', async (how) => {
    const { rig, call } = await setting();
    const { turnId, question } = await rig.ask(call, turn);
    await rig.client.settled();
    if (how === 'a polite stop') await rig.server.restart();
    const server = how === 'a kill' ? await rig.server.afterKill() : rig.server;
    const client = await server.connect();
    const { thread } = await client.request('thread/resume', { threadId: rig.threadId });
    expect(thread.status).toEqual({ type: 'active', activeFlags: [flag] });
    const again = await client.asked();
    expect(again.params).toEqual(question.params);
    again.answer(yes(again.params));
    expect((await completed(client, turnId)).status).toBe('completed');
    expect(rig.outputs()[0]).not.toMatch(refused);
  });
});
