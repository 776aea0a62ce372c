// Running commands for real: their output, their end, and that nothing of them is left.

import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { deferred } from '../../../src/base/signals.ts';
import { type Children, createChildren } from '../../../src/children/spawn.ts';
import { TextDeltas } from '../../../src/process/output.ts';
import type { RunRequest, RunResult } from '../../../src/process/run.ts';
import { runCommand } from '../../../src/process/runner.ts';
import type { SandboxMode, SandboxPolicy } from '../../../src/sandbox/policy.ts';
import { trySandbox } from '../../harness/sandbox.ts';
import { eventually, isRunning, pidsIn, stateOf } from '../children/waiting.ts';
import { ManualClock } from '../transports/manual-clock.ts';

const state = await trySandbox();
const sandbox = async () => state;
if (!state.isAvailable) console.warn(`SKIPPED in part, no sandbox here: ${state.reason}; ${state.advice}`);
const modes: SandboxMode[] = state.isAvailable ? ['danger-full-access', 'workspace-write'] : ['danger-full-access'];

let folder: string;
let children: Children;
let owner: AbortController;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(homedir(), '.heddle-test-')));
  children = createChildren();
  owner = new AbortController();
});

afterEach(async () => {
  await children.close();
  rmSync(folder, { recursive: true, force: true });
});

const policy = (mode: SandboxMode): SandboxPolicy => ({
  mode,
  writableRoots: [folder],
  workspace: [folder],
  network: false,
  hidden: [],
  excludeTmpdir: false,
  excludeSlashTmp: false,
});

/** Runs a script of bash; its `$1` is a file for the pids that it wants to tell. */
function run(
  script: string,
  more: Partial<RunRequest> = {},
  mode: SandboxMode = 'danger-full-access',
  clock: Clock = systemClock,
): Promise<RunResult> {
  const request: RunRequest = {
    argv: ['bash', '-c', script, 'bash', join(folder, 'pids')],
    cwd: folder,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    policy: policy(mode),
    owner: 'a test',
    ...more,
  };
  return runCommand(request, { children, sandbox, clock }, owner.signal);
}

const pids = (count: number) => pidsIn(join(folder, 'pids'), count);

describe.each(modes)('a command under %s', (mode) => {
  it('gives its output in order and its exit code', async () => {
    const result = await run('echo out; echo err >&2; echo more; exit 3', {}, mode);
    expect(result).toMatchObject({
      exitCode: 3,
      output: 'out\nerr\nmore\n',
      outputBytes: 13,
      isCapped: false,
      timedOut: false,
    });
    expect(await result.settled).toEqual({ left: [], lateBytes: 0 });
  });

  it('reports a signal as 128 + n', async () => {
    const result = await run('kill -KILL $$', {}, mode);
    expect(result.exitCode).toBe(137);
    expect(result.spawnError).toBeUndefined();
  });

  it.each([
    ['character in two pieces', "printf '\\xe7'; sleep 0.1; printf '\\x8c\\xab'", 'e78cab', '\u732b'],
    ['byte that is no text', "printf '\\xff'", 'ff', '\ufffd'],
    ['character that never ends', "printf '\\xf0\\x9f'", 'f09f', '\ufffd'],
  ])('has exact bytes and right text for a %s', async (_what, script, bytes, text) => {
    const chunks: Buffer[] = [];
    const decoder = new TextDeltas();
    let deltas = '';
    const onOutput = (chunk: Buffer) => {
      chunks.push(chunk);
      deltas += decoder.push(chunk);
    };
    const result = await run(script, { onOutput }, mode);
    expect(Buffer.concat(chunks).toString('hex')).toBe(bytes);
    expect([deltas + decoder.end(), result.output]).toEqual([text, text]);
  });

  it('is ended as a whole tree by an abort, also when it does not listen', async () => {
    const seen = deferred();
    const running = run(
      `trap '' TERM; (trap '' TERM; touch deaf; while :; do sleep 600; done) & until [ -e deaf ]; do :; done; echo started; wait; sleep 600`,
      { onOutput: () => seen.resolve() },
      mode,
    );
    await seen.promise;
    owner.abort();
    const result = await running;
    expect(result).toMatchObject({ aborted: true, output: 'started\n' });
    expect(await result.settled).toMatchObject({ left: [] });
  });

  it('is ended by its timeout, with a pipeline that would go on', async () => {
    const clock = new ManualClock();
    const onOutput = () => clock.advance(300);
    const result = await run('echo begun; sh -c "sleep 600 | cat"', { timeoutMs: 300, onOutput }, mode, clock);
    expect(result).toMatchObject({ exitCode: 124, timedOut: true, aborted: false, output: 'begun\n' });
    expect(await result.settled).toMatchObject({ left: [] });
  });

  it('is bounded when it floods', async () => {
    let delivered = 0;
    const onOutput = (chunk: Buffer) => {
      delivered += chunk.length;
    };
    const before = process.memoryUsage.rss();
    const result = await run('yes | head -c 256M', { outputCap: 1_048_576, onOutput }, mode);
    expect(process.memoryUsage.rss() - before).toBeLessThan(192 * 1024 * 1024); // generous; the figure is for the bench
    expect(result).toMatchObject({ exitCode: 0, isCapped: true, outputBytes: 256 * 1024 * 1024 });
    expect(Buffer.byteLength(result.output)).toBeLessThanOrEqual(1_048_576);
    expect(delivered).toBe(1_048_576);
  });
});

describe('waiting for the process, not for the pipe', () => {
  it('has all that was printed before the exit, also when there was no time to look before the wait is over', async () => {
    const timer = (_ms: number, work: () => void) => {
      queueMicrotask(work);
      return () => {};
    };
    const hurried: Clock = { ...systemClock, timer };
    for (let round = 0; round < 20; round += 1) {
      const result = await run('head -c 60000 /dev/zero', {}, 'danger-full-access', hurried);
      expect(result).toMatchObject({ exitCode: 0, outputBytes: 60_000 });
    }
  });

  it('completes although a background process holds the pipe, and ends it', async () => {
    const result = await run('sleep 600 & echo $! >> $1; echo done');
    expect(result).toMatchObject({ exitCode: 0, output: 'done\n' });
    const [sleeper] = await pids(1);
    expect(await result.settled).toEqual({ left: [], lateBytes: 0 });
    expect(isRunning(sleeper!)).toBe(false);
  });

  it('completes with what a background tee has passed on', async () => {
    const result = await run('exec > >(tee copy; exec sleep 600); echo hello; until [ -s copy ]; do :; done');
    expect(result).toMatchObject({ exitCode: 0, output: 'hello\n' });
    expect(await result.settled).toMatchObject({ left: [] });
  });

  it('throws away and counts what comes later', async () => {
    const result = await run(
      `(exec 2>/dev/null; trap 'echo late; exit' TERM; echo $BASHPID >> $1; while :; do sleep 0.02; done) & until [ -s $1 ]; do :; done; echo done`,
    );
    expect(result.output).toBe('done\n');
    expect(await result.settled).toEqual({ left: [], lateBytes: 5 });
  });

  it('ends a stopped command', async () => {
    const running = run('echo $$ >> $1; kill -STOP $$; sleep 600');
    const [pid] = await pids(1);
    await eventually('the command is stopped', () => stateOf(pid!) === 'T');
    owner.abort();
    expect(await (await running).settled).toMatchObject({ left: [] });
    expect(isRunning(pid!)).toBe(false);
  });
});

describe('a consumer', () => {
  it('that is slow slows the command down and misses nothing', async () => {
    const gate = deferred();
    let delivered = 0;
    const onOutput = (chunk: Buffer) => {
      delivered += chunk.length;
      return gate.promise;
    };
    const running = run('yes | head -c 400000; echo written > mark', { onOutput });
    await eventually('the first bytes', () => delivered > 0);
    // The command cannot have written what neither the pipe nor the stream has room for.
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    expect([delivered < 200_000, existsSync(join(folder, 'mark'))]).toEqual([true, false]);
    gate.resolve();
    expect(await running).toMatchObject({ exitCode: 0, outputBytes: 400_000 });
    expect(delivered).toBe(400_000);
  });

  it('that never answers does not stand in the way of an abort', async () => {
    const asked = deferred();
    const onOutput = () => {
      asked.resolve();
      return new Promise<void>(() => {});
    };
    const running = run('yes', { onOutput });
    await asked.promise;
    owner.abort();
    expect(await running).toMatchObject({ aborted: true });
  });

  it('that throws ends the command and is told on', async () => {
    const onOutput = () => {
      throw new Error('no room');
    };
    await expect(run('echo $$ >> $1; echo x; exec sleep 600', { onOutput })).rejects.toThrow('no room');
    const [pid] = await pids(1);
    expect(isRunning(pid!)).toBe(false);
  });
});

describe('a command that cannot be started', () => {
  it.each(modes)('is a result with the reason, under %s', async (mode) => {
    const program = await run('', { argv: ['no-such-program'] }, mode);
    expect(program).toMatchObject({
      exitCode: -1,
      output: 'program not found: no-such-program',
      spawnError: { kind: 'notFound' },
    });
    const place = await run('true', { cwd: join(folder, 'gone') }, mode);
    expect(place).toMatchObject({ exitCode: -1, spawnError: { kind: 'notFound' } });
    expect(place.output).toContain(join(folder, 'gone'));
  });

  it('does not run bare where there is no sandbox', async () => {
    const request: RunRequest = {
      argv: ['touch', 'ran'],
      cwd: folder,
      env: {},
      policy: policy('read-only'),
      owner: '',
    };
    const none = async () => ({ isAvailable: false, reason: 'none here', advice: 'install one' }) as const;
    const result = await runCommand(request, { children, sandbox: none }, owner.signal);
    expect(result).toMatchObject({ exitCode: -1, output: 'sandbox unavailable: none here; install one' });
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });

  it.skipIf(!state.isAvailable)('tells a sandbox that fails from a command that fails', async () => {
    const broken = async () => ({ isAvailable: true, tool: { kind: 'bwrap', path: '/bin/false' } }) as const;
    const request: RunRequest = {
      argv: ['true'],
      cwd: folder,
      env: { PATH: '/bin' },
      policy: policy('read-only'),
      owner: '',
    };
    const result = await runCommand(request, { children, sandbox: broken }, owner.signal);
    expect(result).toMatchObject({ exitCode: -1, spawnError: { kind: 'unavailable', data: { sandbox: 'failed' } } });
  });

  it('rejects as cancelled when it was aborted before', async () => {
    owner.abort();
    await expect(run('true')).rejects.toMatchObject({ kind: 'cancelled' });
  });
});
