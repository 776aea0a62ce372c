// command/exec and process/* as a client sees them: output, input, limits, ends, and what belongs to a connection.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { PERMISSIONS } from '../../src/auth/principal.ts';
import { commandOutputDelta, processExited, processOutputDelta } from '../../src/process/methods.ts';
import { BARE, bash, encoded, exited, streamed } from '../harness/processes.ts';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { eventually, isRunning, pidsIn } from '../unit/children/waiting.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const client = async (options: Parameters<typeof startApp>[0] = {}) => {
  const server = await startApp(options);
  return { server, client: await server.connect({ experimentalApi: true }) };
};

describe('command/exec', () => {
  test('tells both streams and the exit code, also of a signal', async () => {
    const { client: one } = await client();
    const run = (script: string, more = {}) => one.request('command/exec', { ...BARE, command: bash(script), ...more });
    expect(await run('echo out; echo err >&2; exit 3')).toEqual({ exitCode: 3, stdout: 'out\n', stderr: 'err\n' });
    expect(await run('kill -9 $$')).toEqual({ exitCode: 137, stdout: '', stderr: '' });
    expect(await run('kill -TERM $$')).toEqual({ exitCode: 143, stdout: '', stderr: '' });
  });

  test('is ended by its time limit, and what it has printed is told', async () => {
    const clock = new ManualClock();
    const { server, client: one } = await client({ clock });
    const begun = join(server.workspace, 'begun');
    const command = bash('echo a; touch $1; sleep 60', begun);
    const run = one.request('command/exec', { ...BARE, command, timeoutMs: 200 });
    await eventually('the output', () => existsSync(begun));
    clock.advance(200);
    expect(await run).toEqual({ exitCode: 124, stdout: 'a\n', stderr: '' });
  });

  test('keeps each stream to its cap, and says so', async () => {
    const { client: one } = await client();
    const command = bash('echo 0123456789abcdef; echo ABCDEFGHIJKLMNOP >&2');
    const request = { ...BARE, command, outputBytesCap: 10 };
    expect(await one.request('command/exec', request)).toEqual({
      exitCode: 0,
      stdout: '0123456789',
      stderr: 'ABCDEFGHIJ',
      stdoutCapReached: true,
      stderrCapReached: true,
    });
    await one.request('command/exec', { ...request, processId: 'p', streamStdoutStderr: true });
    await one.request('command/exec', { ...request, processId: 'q', streamStdoutStderr: true, outputBytesCap: 0 });
    const told = one
      .news('command/exec/outputDelta')
      .map(({ processId, stream, deltaBase64, capReached }) => [
        processId,
        stream,
        Buffer.from(deltaBase64, 'base64').toString(),
        capReached,
      ]);
    expect(told.toSorted()).toEqual([
      ['p', 'stderr', 'ABCDEFGHIJ', true],
      ['p', 'stdout', '0123456789', true],
      ['q', 'stderr', '', true],
      ['q', 'stdout', '', true],
    ]);
  });

  test('puts no more into one message than it may hold', async () => {
    const { client: one } = await client();
    const command = bash('head -c 4000000 /dev/zero; echo end >&2');
    const result = await one.request('command/exec', { ...BARE, command, disableOutputCap: true });
    expect(result).toMatchObject({ exitCode: 0, stdoutCapReached: true });
    const size = Buffer.byteLength(JSON.stringify(result));
    expect(size).toBeLessThan(16 * 1024 * 1024);
    expect(size).toBeGreaterThan(15 * 1024 * 1024);
    const plain = bash('head -c 10485760 /dev/zero | tr "\\0" a');
    const whole = await one.request('command/exec', { ...BARE, command: plain, disableOutputCap: true });
    expect([whole.stdout.length, whole.stdoutCapReached]).toEqual([10_485_760, undefined]);
  });

  test('gives the folder and environment asked for, and none of the secrets of the server', async () => {
    process.env.HEDDLE_TEST_API_KEY = 'secret';
    try {
      const { server, client: one } = await client();
      mkdirSync(join(server.workspace, 'sub'));
      const command = bash('pwd; env | grep -E "^(A|HOME|HEDDLE_TEST_API_KEY)="');
      const { stdout } = await one.request('command/exec', {
        ...BARE,
        command,
        cwd: 'sub',
        env: { A: '1', HOME: null },
      });
      expect(stdout).toBe(`${join(server.workspace, 'sub')}\nA=1\n`);
    } finally {
      delete process.env.HEDDLE_TEST_API_KEY;
    }
  });

  test.each(TRANSPORTS)('streams the exact bytes over %s, also of a character in pieces', async (transport) => {
    const { client: one } = await client({ transport });
    const run = (processId: string, script: string) =>
      one.request('command/exec', { ...BARE, command: bash(script), processId, streamStdoutStderr: true });
    const gate = join((await startApp()).workspace, 'gate');
    const parts = one.request('command/exec', {
      ...BARE,
      command: bash("printf '\\347'; while [ ! -e $1 ]; do sleep 0.01; done; printf '\\214\\253'", gate),
      processId: 'b',
      streamStdoutStderr: true,
    });
    await one.message(() => streamed(one, 'b').length === 1, 'the first byte');
    await run('c', `printf '\\377'; touch ${gate}`);
    await run('d', "printf '\\360\\237'");
    expect(await parts).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(streamed(one, 'b')).toEqual(Buffer.from([0xe7, 0x8c, 0xab]));
    expect(streamed(one, 'c')).toEqual(Buffer.from([0xff]));
    expect(streamed(one, 'd')).toEqual(Buffer.from([0xf0, 0x9f]));
    const buffered = (script: string) => one.request('command/exec', { ...BARE, command: bash(script) });
    expect((await buffered("printf '\\347\\214\\253'")).stdout).toBe('\u732b');
    expect((await buffered("printf '\\377'")).stdout).toBe('\ufffd');
    expect((await buffered("printf '\\360\\237'")).stdout).toBe('\ufffd');
    for (const each of one.news('command/exec/outputDelta')) commandOutputDelta.params().parse(each);
  });

  test('takes input in order, and no faster than the program does', async () => {
    const { server, client: one } = await client();
    const gate = join(server.workspace, 'gate');
    const run = one.request('command/exec', {
      ...BARE,
      command: bash('while [ ! -e $1 ]; do sleep 0.01; done; sha256sum; ', gate),
      processId: 'p',
      streamStdin: true,
    });
    const piece = Buffer.alloc(256 * 1024, 'x');
    const writes = Array.from({ length: 4 }, () =>
      one.request('command/exec/write', { processId: 'p', deltaBase64: piece.toString('base64') }),
    );
    let taken = 0;
    for (const each of writes) void each.then(() => (taken += 1));
    await one.settled();
    expect(taken).toBe(0);
    await one.request('command/exec', { ...BARE, command: ['touch', gate] });
    await Promise.all(writes);
    await one.request('command/exec/write', { processId: 'p', closeStdin: true });
    const { createHash } = await import('node:crypto');
    const hash = createHash('sha256')
      .update(Buffer.alloc(1024 * 1024, 'x'))
      .digest('hex');
    expect((await run).stdout).toBe(`${hash}  -\n`);
  });

  test('refuses what cannot be, by kind, and starts nothing', async () => {
    const { server, client: one } = await client();
    const refused = (params: object) => one.refusal('command/exec', { ...BARE, command: ['true'], ...params });
    const missing = join(server.workspace, 'missing');
    expect(await refused({ cwd: missing })).toMatchObject({ code: -32004, message: expect.stringContaining(missing) });
    expect(await refused({ command: ['no-such-program-xyz'] })).toMatchObject({ code: -32004 });
    for (const wrong of [
      { command: [] },
      { command: 'ls' },
      { timeoutMs: -1 },
      { timeoutMs: 1, disableTimeout: true },
      { outputBytesCap: 1, disableOutputCap: true },
      { permissionProfile: ':workspace' },
      { streamStdin: true },
      { streamStdoutStderr: true },
      { tty: true },
      { processId: 'p', size: { rows: 1, cols: 1 } },
      { processId: 'p', tty: true, size: { rows: 0, cols: 1 } },
    ])
      expect(await refused(wrong)).toMatchObject({ code: -32602 });
  });

  test('names what is wrong with a write, a new size or a stop, and what state the program is in', async () => {
    const { client: one } = await client();
    const write = (processId: string, more: object) => one.refusal('command/exec/write', { processId, ...more });
    const run = one.request('command/exec', {
      ...BARE,
      command: ['sleep', '600'],
      processId: 'p',
      disableTimeout: true,
    });
    expect(await write('p', { deltaBase64: encoded('x') })).toMatchObject({ code: -32009 });
    expect(await write('p', {})).toMatchObject({ code: -32602 });
    expect(await write('p', { deltaBase64: '***' })).toMatchObject({ code: -32602 });
    expect(await one.refusal('command/exec/resize', { processId: 'p', size: { rows: 1, cols: 1 } })).toMatchObject({
      code: -32009,
    });
    expect(await one.refusal('command/exec', { ...BARE, command: ['true'], processId: 'p' })).toMatchObject({
      code: -32009,
      message: expect.stringContaining('duplicate active command/exec process id: "p"'),
    });
    await one.request('command/exec/terminate', { processId: 'p' });
    expect(await run).toMatchObject({ exitCode: 137 });
    for (const method of ['command/exec/terminate', 'command/exec/terminate'])
      expect(await one.refusal(method, { processId: 'p' })).toMatchObject({ code: -32004, data: { state: 'ended' } });
    expect(await write('zz', { deltaBase64: '' })).toMatchObject({ code: -32004, data: { state: 'unknown' } });
  });

  test('confines by policy, by profile, and by what is configured', async () => {
    const { server, client: one } = await client({ config: { sandbox_mode: 'workspace-write' } });
    const run = (params: object, path: string) =>
      one.request('command/exec', { command: bash('echo x >$1', path), ...params }).then(({ exitCode }) => exitCode);
    const inside = join(server.workspace, 'inside');
    const probe = await one.request('command/exec', { command: ['true'] }).catch((error: Error) => error.message);
    if (typeof probe === 'string') {
      console.warn(`SKIPPED, no sandbox here: ${probe}`);
      return;
    }
    expect(await run({ permissionProfile: ':read-only' }, inside)).not.toBe(0);
    expect(await run({ sandboxPolicy: { type: 'readOnly' } }, inside)).not.toBe(0);
    expect(existsSync(inside)).toBe(false);
    expect(await run({}, inside)).toBe(0);
    expect(readFileSync(inside, 'utf8')).toBe('x\n');
    expect(await run({}, join(server.dataDirectory, 'stolen'))).not.toBe(0);
    expect(existsSync(join(server.dataDirectory, 'stolen'))).toBe(false);
    expect(await one.refusal('command/exec', { command: ['true'], permissionProfile: 'nope' })).toMatchObject({
      code: -32602,
    });
  });

  test('is refused where a sandbox is asked for and there is none', async () => {
    const state = { isAvailable: false, reason: 'no program', advice: 'install one' } as const;
    const { client: one } = await client({ sandbox: async () => state });
    const error = await one.refusal('command/exec', { command: ['true'], sandboxPolicy: { type: 'readOnly' } });
    expect(error.data).toMatchObject({ sandbox: 'unavailable' });
    expect(await one.request('command/exec', { ...BARE, command: ['true'] })).toMatchObject({ exitCode: 0 });
  });
});

describe('process/*', () => {
  test('answers first, then tells all output, then one exit, and frees the handle', async () => {
    const { server, client: one } = await client();
    const spawn = (processHandle: string, script: string, more = {}) =>
      one.request('process/spawn', { cwd: server.workspace, processHandle, command: bash(script), ...more });
    const before = one.transcript.length;
    await spawn('a', 'echo out; echo err >&2; exit 3', { streamStdoutStderr: true });
    const end = { exitCode: 3, outputDrainTimedOut: false, stdoutCapReached: false, stderrCapReached: false };
    expect(await exited(one, 'a')).toEqual({ processHandle: 'a', stdout: '', stderr: '', ...end });
    const order = one.transcript.slice(before).map((each) => each.method ?? 'answer');
    const delta = 'process/outputDelta';
    expect(order).toEqual(['answer', delta, delta, 'process/exited']);
    await spawn('a', 'echo again', { outputBytesCap: 5 });
    const second = await one.notified('process/exited', ({ stdout }) => stdout !== '');
    expect(second).toMatchObject({ stdout: 'again', stdoutCapReached: true, exitCode: 0 });
    for (const each of one.news(delta)) processOutputDelta.params().parse(each);
    for (const each of one.news('process/exited')) processExited.params().parse(each);
  });

  test('is killed as a whole tree, at once', async () => {
    const { server, client: one } = await client();
    const pids = join(server.workspace, 'pids');
    const script = 'trap "" TERM; echo $$ >>$1; (trap "" TERM; echo $BASHPID >>$1; exec setsid sleep 60) & sleep 60';
    await one.request('process/spawn', { cwd: server.workspace, processHandle: 'k', command: bash(script, pids) });
    const started = await pidsIn(pids, 2);
    await one.request('process/kill', { processHandle: 'k' });
    expect(await exited(one, 'k')).toMatchObject({ exitCode: 137 });
    await eventually('the end of all', () => !started.some(isRunning));
    expect(await one.refusal('process/kill', { processHandle: 'k' })).toMatchObject({ code: -32004 });
  });

  test('tells an exit although somebody else holds the output, and ends who that is', async () => {
    const { server, client: one } = await client();
    const pids = join(server.workspace, 'pids');
    const holder = 'setsid bash -c \'trap "" TERM HUP; echo $$ >>$0; while :; do sleep 1; done\' $1 &';
    const script = `echo done; ${holder} until [ -s $1 ]; do sleep 0.01; done`;
    await one.request('process/spawn', { cwd: server.workspace, processHandle: 'h', command: bash(script, pids) });
    expect(await exited(one, 'h')).toMatchObject({ exitCode: 0, stdout: 'done\n', outputDrainTimedOut: true });
    const [left] = await pidsIn(pids, 1);
    await eventually('the end of the holder', () => !isRunning(left as number));
  });

  test('cannot be begun without end by one connection', async () => {
    const { server, client: one } = await client();
    const params = { cwd: server.workspace, command: ['sleep', '3600'], timeoutMs: null };
    const spawn = (index: number) => ({ ...params, processHandle: `${index}` });
    for (let index = 0; index < 256; index += 1) await one.request('process/spawn', spawn(index));
    expect(await one.refusal('process/spawn', spawn(256))).toMatchObject({ code: -32001 });
    await one.request('process/kill', { processHandle: '0' });
    await exited(one, '0');
    await one.request('process/spawn', spawn(256));
  });

  test('needs the experimental capability and a whole path', async () => {
    const { server, client: one } = await client();
    const plain = await server.connect();
    const params = { cwd: server.workspace, processHandle: 'p', command: ['true'] };
    expect(await plain.refusal('process/spawn', params)).toMatchObject({ code: -32600 });
    expect(await one.refusal('process/spawn', { ...params, cwd: 'x' })).toMatchObject({ code: -32602 });
    expect(await one.refusal('process/spawn', { ...params, processHandle: '' })).toMatchObject({ code: -32602 });
  });
});

describe('a connection', () => {
  test('has names of its own, and takes its programs with it', async () => {
    const { server, client: one } = await client();
    const other = await server.connect({ experimentalApi: true });
    const pids = join(server.workspace, 'pids');
    const script = 'echo $$ >>$1; sleep 600';
    const endless = { ...BARE, command: bash(script, pids), disableTimeout: true };
    one.post('command/exec', { ...endless, processId: 'same' });
    one.post('command/exec', endless);
    one.post('process/spawn', {
      cwd: server.workspace,
      processHandle: 'p',
      command: bash(script, pids),
      timeoutMs: null,
    });
    const started = await pidsIn(pids, 3);
    expect(await other.refusal('command/exec/terminate', { processId: 'same' })).toMatchObject({ code: -32004 });
    expect(await other.request('command/exec', { ...BARE, command: ['true'], processId: 'same' })).toMatchObject({
      exitCode: 0,
    });
    expect(started.every(isRunning)).toBe(true);
    one.wire.cut();
    await eventually('the end of the programs', () => !started.some(isRunning));
    await other.settled();
  });

  test('gets an answer to each of 400 commands at once: a result or that it is too much', async () => {
    const { client: one } = await client();
    const ids = Array.from({ length: 400 }, () => one.post('command/exec', { ...BARE, command: ['true'] }));
    const outcomes = await Promise.allSettled(ids.map((id) => one.answerTo(id)));
    const refused = outcomes.filter((each) => each.status === 'rejected');
    for (const { reason } of refused) expect(reason).toMatchObject({ code: -32001 });
    expect(refused.length).toBeLessThan(400);
    const answers = one.transcript.filter((each) => ids.includes(each.id));
    expect(answers.map((each) => each.id).toSorted((a, b) => a - b)).toEqual(ids);
  });
});

describe('a remote client', () => {
  const remote = (without: string[] = []) => ({
    tenant: 'local',
    subject: 'someone',
    permissions: new Set(PERMISSIONS.filter((each) => !without.includes(each))),
    isLocal: false,
  });

  test('needs the permission for programs, and stays in the folders of the operator', async () => {
    const server = await startApp();
    const blind = await server.connectAs(remote(['process']), { experimentalApi: true });
    for (const method of ['command/exec', 'process/spawn', 'thread/shellCommand'])
      expect(await blind.refusal(method, {})).toMatchObject({ code: -32600, data: { permission: 'process' } });
    const outside = await server.connectAs(remote(), { experimentalApi: true });
    const spawn = { cwd: server.workspace, processHandle: 'p', command: ['true'] };
    expect(await outside.refusal('command/exec', { ...BARE, command: ['true'] })).toMatchObject({
      data: { kind: 'forbidden' },
    });
    expect(await outside.refusal('process/spawn', spawn)).toMatchObject({ data: { kind: 'forbidden' } });
  });

  test('runs programs in the folders that it was given', async () => {
    const roots = await startApp();
    const server = await startApp({ config: { remote: { roots: [roots.workspace] } } });
    const one = await server.connectAs(remote());
    const request = { ...BARE, command: ['pwd'], cwd: roots.workspace };
    expect(await one.request('command/exec', request)).toMatchObject({ stdout: `${roots.workspace}\n` });
  });
});

test('text on a stream that nobody wants is not sent, and the end still comes', async () => {
  const server = await startApp();
  const one = await server.connect({ optOut: ['command/exec/outputDelta'] });
  const request = { ...BARE, command: ['echo', 'x'], processId: 'p', streamStdoutStderr: true };
  expect(await one.request('command/exec', request)).toMatchObject({ exitCode: 0 });
  expect(one.news('command/exec/outputDelta')).toEqual([]);
});
