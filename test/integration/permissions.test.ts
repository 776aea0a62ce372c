// A model asks for more than its sandbox allows: people grant a part, for the turn or the session, and never more than was asked.

import { mkdir, readFile, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Principal } from '../../src/auth/principal.ts';
import { type CallingModel, callingModel, type ToolUse } from '../harness/calling-model.ts';
import { trySandbox } from '../harness/sandbox.ts';
import { cleanUp, type StartOptions, temporaryFolder } from '../harness/start-app.ts';
import { completed, startThread } from '../harness/turns.ts';

const state = await trySandbox();
if (!state.isAvailable) console.warn(`SKIPPED in part, no sandbox here: ${state.reason}; ${state.advice}`);

afterEach(cleanUp);

const NOTHING = { permissions: { network: null, file_system: null }, scope: 'turn' };

async function setting(thread: object = {}, options: StartOptions = {}) {
  const rig = await callingModel(thread, options);
  const out = await temporaryFolder();
  const ask: ToolUse = [
    'request_permissions',
    { permissions: { network: { enabled: true }, file_system: { write: [out] } }, reason: 'need to write' },
  ];
  const write: ToolUse = ['exec_command', { cmd: `printf x >> ${join(out, 'mark')}` }];
  const marks = () => readFile(join(out, 'mark'), 'utf8').catch(() => '');
  return { rig, out, ask, write, marks };
}

const grantOf = (path: string, scope = 'turn') => ({
  permissions: { fileSystem: { read: null, write: [path] }, network: null },
  scope,
});
const told = (rig: CallingModel, index = 0) => JSON.parse(rig.outputs()[index] ?? 'null');
const warnings = (rig: CallingModel): string[] => rig.client.news('warning').map(({ message }) => message);

test('the question is shown as the protocol has it, and what is granted in part is told to the model', async () => {
  const { rig, out, ask } = await setting();
  const { turnId, question } = await rig.ask(ask);
  expect(question.method).toBe('item/permissions/requestApproval');
  expect(question.params).toMatchObject({
    ...{ threadId: rig.threadId, turnId, itemId: 'call_1', environmentId: 'local', cwd: rig.server.workspace },
    reason: 'need to write',
    permissions: {
      network: { enabled: true },
      fileSystem: { read: null, write: [out], entries: [{ path: { type: 'path', path: out }, access: 'write' }] },
    },
  });
  const { thread } = await rig.client.request('thread/read', { threadId: rig.threadId });
  expect(thread.status.activeFlags).toEqual(['waitingOnApproval']);
  question.answer(grantOf(out));
  expect((await completed(rig.client, turnId)).status).toBe('completed');
  expect(told(rig)).toEqual({ permissions: { network: null, file_system: { write: [out] } }, scope: 'turn' });
});

describe.skipIf(!state.isAvailable)('what is granted', () => {
  test('for the turn holds for its commands, and not for the next turn', async () => {
    const { rig, out, ask, write, marks } = await setting();
    const turnId = await rig.begin([write, ask, write, write]);
    (await rig.client.asked()).answer(grantOf(out));
    await completed(rig.client, turnId);
    expect(rig.outputs()[0]).not.toMatch(/code 0/);
    expect(await marks()).toBe('xx');
    await rig.run([write]);
    expect(await marks()).toBe('xx');
  });

  test('for the session holds while the thread is loaded, for it alone', async () => {
    const { rig, out, ask, write, marks } = await setting({ sandbox: 'read-only' });
    const { turnId, question } = await rig.ask(ask);
    question.answer(grantOf(out, 'session'));
    await completed(rig.client, turnId);
    const { outputs } = await rig.run([write, ['exec_command', { cmd: `touch ${rig.server.workspace}/own` }]]);
    expect(await marks()).toBe('x');
    expect(outputs[1]).toMatch(/Read-only file system/);
    const other = await startThread(rig.client, { cwd: rig.server.workspace });
    const stranger = await rig.begin([write], { threadId: other });
    await completed(rig.client, stranger);
    expect(await marks()).toBe('x');
    await rig.server.restart();
    const later = await rig.server.connect();
    await later.request('thread/resume', { threadId: rig.threadId });
    await completed(later, await rig.begin([write], {}, later));
    expect(await marks()).toBe('x');
  });
});

describe('nothing is granted by', () => {
  test.each<[string, object]>([
    ['an error', { error: { code: -1, message: 'no' } }],
    ['a decision', { result: { decision: 'accept' } }],
    ['nothing', { result: {} }],
    ['null', { result: null }],
    ['true', { result: { permissions: true, scope: 'session' } }],
    ['another scope', { result: { permissions: { network: { enabled: true } }, scope: 'forever' } }],
    [
      'a review by a machine',
      { result: { permissions: { network: { enabled: true } }, scope: 'turn', strictAutoReview: true } },
    ],
  ])('%s', async (_, answer) => {
    const { rig, ask } = await setting();
    const { turnId, question } = await rig.ask(ask);
    rig.client.send({ id: question.id, ...answer });
    expect((await completed(rig.client, turnId)).status).toBe('completed');
    expect(told(rig)).toMatchObject(NOTHING);
    expect(warnings(rig)).toEqual([expect.stringContaining('An approval was refused')]);
    expect(rig.client.news('serverRequest/resolved')).toHaveLength(1);
  });

  test('a grant that leaves a part of the folder out', async () => {
    const { rig, out, ask } = await setting();
    const { turnId, question } = await rig.ask(ask);
    const entries = [
      { path: { type: 'path', path: out }, access: 'write' },
      { path: { type: 'path', path: join(out, 'secret') }, access: 'deny' },
    ];
    question.answer({ permissions: { fileSystem: { read: null, write: null, entries } }, scope: 'turn' });
    await completed(rig.client, turnId);
    expect(told(rig)).toMatchObject(NOTHING);
  });

  test('an empty grant, and that is no fault', async () => {
    const { rig, ask } = await setting();
    const { turnId, question } = await rig.ask(ask);
    question.answer({ permissions: {}, scope: 'turn' });
    await completed(rig.client, turnId);
    expect(told(rig)).toEqual(NOTHING);
    expect(warnings(rig)).toEqual([]);
  });

  test.each<[string, object]>([
    ['never', { approvalPolicy: 'never' }],
    [
      'granular without requests for permissions',
      {
        approvalPolicy: {
          granular: {
            ...{ sandbox_approval: true, rules: true, skill_approval: true, mcp_elicitations: true },
            request_permissions: false,
          },
        },
      },
    ],
  ])('the policy %s: nobody is asked', async (_, thread) => {
    const { rig, ask } = await setting(thread);
    await rig.run([ask]);
    expect(told(rig)).toMatchObject({ ...NOTHING, refusedBecause: expect.stringContaining('policy') });
    expect(rig.client.questions()).toEqual([]);
    expect(rig.client.news('warning')).toMatchObject([{ refused: true }]);
  });

  test('people, where it is the data directory that is asked for', async () => {
    const { rig } = await setting();
    const inside = join(rig.server.dataDirectory, 'rules');
    await rig.run([['request_permissions', { permissions: { file_system: { write: [inside] } } }]]);
    expect(told(rig)).toMatchObject({ ...NOTHING, refusedBecause: expect.stringContaining('out of reach') });
    expect(rig.client.questions()).toEqual([]);
  });
});

test('of an answer that goes beyond the question only what was asked counts', async () => {
  const { rig, out, ask } = await setting();
  const { turnId, question } = await rig.ask(ask);
  const write = [out, '/', join(out, '..'), '/etc'];
  question.answer({
    permissions: { network: { enabled: true }, fileSystem: { read: ['/root'], write } },
    scope: 'turn',
  });
  await completed(rig.client, turnId);
  expect(told(rig)).toEqual({
    permissions: { network: { enabled: true }, file_system: { write: [out] } },
    scope: 'turn',
  });
  expect(warnings(rig)).toEqual([expect.stringMatching(/beyond what was asked.*\/root.*\/etc/)]);
});

test('the network that was not asked for is not given', async () => {
  const { rig, out } = await setting();
  const { turnId, question } = await rig.ask([
    'request_permissions',
    { permissions: { file_system: { read: [out] } } },
  ]);
  question.answer({
    permissions: { network: { enabled: true }, fileSystem: { read: [out], write: [out] } },
    scope: 'session',
  });
  await completed(rig.client, turnId);
  expect(told(rig)).toEqual({ permissions: { network: null, file_system: { read: [out] } }, scope: 'session' });
});

test('patches in a granted folder need no other question, except where they make others run programs', async () => {
  const { rig, out, ask } = await setting();
  await mkdir(join(out, '.git'));
  const patch = (name: string): ToolUse => [
    'apply_patch',
    { input: `*** Begin Patch\n*** Add File: ${join(out, name)}\n+x\n*** End Patch` },
  ];
  const turnId = await rig.begin([ask, patch('a.txt'), patch('.git/hook')]);
  (await rig.client.asked(({ permissions }) => permissions !== undefined)).answer(grantOf(out));
  const question = await rig.client.asked(({ heddle }) => heddle.changes !== undefined);
  expect(question.params.heddle.targets).toEqual([join(out, '.git/hook')]);
  expect(await readFile(join(out, 'a.txt'), 'utf8')).toBe('x\n');
  question.answer({ decision: 'decline' });
  await completed(rig.client, turnId);
});

test('it stands over a restart, and its answer goes on with the turn', async () => {
  const { rig, out, ask } = await setting();
  const { turnId, question } = await rig.ask(ask);
  await rig.server.restart();
  const later = await rig.server.connect();
  await later.request('thread/resume', { threadId: rig.threadId });
  const again = await later.asked();
  expect(again.params).toEqual(question.params);
  again.answer(grantOf(out));
  expect((await completed(later, turnId)).status).toBe('completed');
  expect(told(rig)).toEqual({ permissions: { network: null, file_system: { write: [out] } }, scope: 'turn' });
});

test('arguments that ask for nothing go back to the model', async () => {
  const { rig } = await setting();
  const empty = ['request_permissions', { permissions: { network: { enabled: false } } }] as const;
  const odd = ['request_permissions', { permissions: { file_system: { write: 'x' } } }] as const;
  const { outputs } = await rig.run([empty, odd]);
  expect(outputs[0]).toMatch(/ask for nothing/);
  expect(outputs[1]).toMatch(/do not fit/);
});

describe('for one command', () => {
  const wanting = (out: string, cmd: string): ToolUse => [
    'exec_command',
    {
      cmd,
      sandbox_permissions: 'with_additional_permissions',
      additional_permissions: { file_system: { write: [out] } },
      justification: 'May I?',
    },
  ];

  test.skipIf(!state.isAvailable)('they are shown with it, and hold for it alone', async () => {
    const { rig, out, write, marks } = await setting();
    const turnId = await rig.begin([wanting(out, `printf y >> ${join(out, 'mark')}`), write]);
    const question = await rig.client.asked();
    expect(question.method).toBe('item/commandExecution/requestApproval');
    expect(question.params).toMatchObject({
      additionalPermissions: { network: null, fileSystem: { write: [out] } },
      availableDecisions: ['accept', 'acceptForSession', 'decline', 'cancel'],
      heddle: { sandbox: 'sandboxed' },
    });
    question.answer({ decision: 'accept' });
    await completed(rig.client, turnId);
    expect(await marks()).toBe('y');
  });

  test('a refusal lets nothing run', async () => {
    const { rig, out, marks } = await setting();
    const { turnId, question } = await rig.ask(wanting(out, `printf y >> ${join(out, 'mark')}`));
    question.answer({ decision: 'decline' });
    await completed(rig.client, turnId);
    expect(await marks()).toBe('');
  });

  describe.skipIf(!state.isAvailable)('under the ceiling of remote clients', () => {
    const REMOTE: Principal = {
      tenant: 'local',
      subject: 'someone',
      permissions: new Set(['thread:read', 'thread:write', 'approval:resolve']),
      isLocal: false,
    };

    const NETWORK = { network: { enabled: true } };

    async function shared(approvalPolicy: string) {
      const config = { remote: { roots: [await realpath(tmpdir())] } };
      const { rig } = await setting({ sandbox: 'read-only', approvalPolicy }, { config });
      const remote = await rig.server.connectAs(REMOTE, { experimentalApi: true });
      await remote.request('thread/resume', { threadId: rig.threadId });
      const more = { sandbox_permissions: 'with_additional_permissions', additional_permissions: NETWORK };
      return { rig, remote, call: ['exec_command', { cmd: 'echo it ran', ...more }] as const };
    }

    test('a turn gets none, whoever is asked about its commands', async () => {
      const { rig, remote, call } = await shared('untrusted');
      await completed(rig.client, await rig.begin([call], {}, remote));
      expect(rig.outputs()[0]).toMatch(/under the ceiling/);
      expect([...rig.client.questions(), ...remote.questions()]).toEqual([]);
    });

    test('a turn is not helped by what was accepted for the session', async () => {
      const { rig, remote, call } = await shared('on-request');
      const mine = await rig.begin([call]);
      (await rig.client.asked()).answer({ decision: 'acceptForSession' });
      await completed(rig.client, mine);
      expect(rig.outputs()[0]).toMatch(/it ran/);
      await completed(rig.client, await rig.begin([call], {}, remote));
      expect(rig.outputs()[0]).toMatch(/under the ceiling/);
    });

    test('a turn types nothing into a command that has them, and their yes lets nobody else', async () => {
      const { rig, remote, call } = await shared('on-request');
      const mine = await rig.begin([['exec_command', { ...call[1], cmd: 'cat', tty: true, yield_time_ms: 250 }]]);
      (await rig.client.asked()).answer({ decision: 'accept' });
      await completed(rig.client, mine);
      const session = Number(/session ID (\d+)/.exec(rig.outputs()[0]!)?.[1]);
      const typed: ToolUse = ['write_stdin', { session_id: session, chars: 'theirs\n' }];
      await completed(rig.client, await rig.begin([typed], {}, remote));
      expect(rig.outputs()[0]).toMatch(/was refused/);
      for (const [by, said] of [
        [remote, /was refused/],
        [rig.client, /theirs/],
      ] as const) {
        const turnId = await rig.begin([typed]);
        (await by.asked((params) => params.turnId === turnId)).answer({ decision: 'accept' });
        await completed(rig.client, turnId);
        expect(rig.outputs()[0]).toMatch(said);
      }
    });

    test('the yes of a remote client to them is none, in anybody’s turn', async () => {
      const { rig, remote, call } = await shared('on-request');
      const turnId = await rig.begin([call]);
      (await remote.asked()).answer({ decision: 'accept' });
      await completed(rig.client, turnId);
      expect(rig.outputs()[0]).toMatch(/refused/);
    });
  });

  test('the data directory is not asked for, and under never nobody is', async () => {
    const { rig } = await setting();
    const hidden = await rig.run([wanting(rig.server.dataDirectory, 'ls')]);
    expect(hidden.outputs[0]).toMatch(/out of reach/);
    const never = await setting({ approvalPolicy: 'never' });
    const { outputs } = await never.rig.run([wanting(never.out, 'ls')]);
    expect(outputs[0]).toMatch(/never to ask/);
    expect([...rig.client.questions(), ...never.rig.client.questions()]).toEqual([]);
  });
});
