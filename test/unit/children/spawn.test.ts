// Starting children: what goes wrong is said, what is started ends with its owner, whatever it does to get away.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Child, type Children, type ChildSpec, createChildren } from '../../../src/children/spawn.ts';
import { treeMembers } from '../../../src/children/tree.ts';
import { eventually, isRunning, pidsIn, stateOf } from './waiting.ts';

const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
let folder: string;
let children: Children;
let owner: AbortController;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-spawn-'));
  children = createChildren();
  owner = new AbortController();
});

afterEach(async () => {
  await children.close();
  rmSync(folder, { recursive: true, force: true });
});

const start = (argv: ChildSpec['argv'], more: Partial<ChildSpec> = {}): Promise<Child> =>
  children.start({ argv, cwd: folder, env, stdin: 'none', output: 'merged', ...more }, owner.signal);

const shell = (script: string): Promise<Child> => start(['bash', '-c', script, 'bash', join(folder, 'pids')]);

describe('a start that cannot work', () => {
  it('names the missing program', async () => {
    await expect(start(['no-such-program'])).rejects.toMatchObject({
      kind: 'notFound',
      message: 'program not found: no-such-program',
    });
  });

  it('names the missing folder rather than the program', async () => {
    await expect(start(['true'], { cwd: join(folder, 'gone') })).rejects.toMatchObject({
      kind: 'notFound',
      message: `working directory does not exist: ${join(folder, 'gone')}`,
    });
  });

  it('refuses a file as folder, a relative folder, and a file that is not executable', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, 'x');
    chmodSync(file, 0o644);
    await expect(start(['true'], { cwd: file })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(start(['true'], { cwd: '.' })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(start([file])).rejects.toMatchObject({ kind: 'invalid', message: `not an executable file: ${file}` });
  });

  it('tells of a script whose interpreter is missing, and of arguments the system does not take', async () => {
    const script = join(folder, 'script');
    writeFileSync(script, '#!/no/such/interpreter\n', { mode: 0o755 });
    await expect(start([script])).rejects.toMatchObject({ kind: 'notFound' });
    await expect(start(['echo', 'a\0b'])).rejects.toMatchObject({ kind: 'invalid' });
    await expect(start(['echo', 'x'.repeat(4_000_000)])).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('is cancelled by a signal that has aborted and refused after the close', async () => {
    owner.abort();
    await expect(start(['true'])).rejects.toMatchObject({ kind: 'cancelled' });
    await children.close();
    owner = new AbortController();
    await expect(start(['true'])).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('a child', () => {
  it('gets the environment it was given, its mark, and nothing else', async () => {
    const child = await start(['env'], { env: { ...env, ONLY: 'this' } });
    const lines = (await text(child.stdout)).trim().split('\n').sort();
    expect(lines).toEqual([`HEDDLE_CHILD=${child.mark}`, 'ONLY=this', `PATH=${env.PATH}`]);
  });

  it('keeps the order of both streams in one pipe, and can open them by their paths', async () => {
    const child = await shell('for i in 1 2 3; do echo out$i; echo err$i >&2; done; echo path > /dev/stderr');
    expect(await text(child.stdout)).toBe('out1\nerr1\nout2\nerr2\nout3\nerr3\npath\n');
    expect(child.stderr).toBeNull();
  });

  it('has separate streams and standard input when asked', async () => {
    const child = await start(['bash', '-c', 'read x; echo "got $x"; echo no >&2; exit 3'], {
      stdin: 'pipe',
      output: 'split',
    });
    child.stdin?.end('hello\n');
    const [out, err, exit] = await Promise.all([text(child.stdout), text(child.stderr!), child.exited]);
    expect([out, err, exit]).toEqual(['got hello\n', 'no\n', { code: 3, signal: null }]);
  });

  it('tells the signal that ended it', async () => {
    const child = await shell('kill -KILL $$');
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });
});

describe('the end of a tree', () => {
  it('reaches descendants that left group and session, lost their parent, or cleared their environment', async () => {
    const child = await shell(`
      setsid sleep 600 & echo $! >> $1
      ( setsid bash -c 'echo $$ >> "$0"; exec sleep 600' "$1" & ) 
      env -i /bin/sleep 600 & echo $! >> $1
      set -m; sleep 600 & echo $! >> $1
      wait`);
    const pids = await pidsIn(join(folder, 'pids'), 4);
    owner.abort();
    expect(await child.end()).toEqual({ left: [] });
    expect(pids.filter(isRunning)).toEqual([]);
    expect(isRunning(child.pid)).toBe(false);
  });

  it('kills what does not listen to TERM', async () => {
    const child = await shell(`trap '' TERM; echo $$ >> $1; while :; do sleep 600; done`);
    await pidsIn(join(folder, 'pids'), 1);
    expect(await child.end()).toEqual({ left: [] });
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('lets what listens to TERM finish by itself', async () => {
    const child = await shell(`trap 'exit 7' TERM; echo $$ >> $1; while :; do sleep 0.05; done`);
    await pidsIn(join(folder, 'pids'), 1);
    await child.end();
    expect(await child.exited).toEqual({ code: 7, signal: null });
  });

  it('reaches stopped processes', async () => {
    const child = await shell(`echo $$ >> $1; kill -STOP $$`);
    const [pid] = await pidsIn(join(folder, 'pids'), 1);
    await eventually('the process is stopped', () => stateOf(pid!) === 'T');
    expect(await child.end()).toEqual({ left: [] });
    expect(isRunning(pid!)).toBe(false);
  });

  it('finds what lives on after the first process has exited', async () => {
    const child = await shell(`sleep 600 & echo $! >> $1; setsid sleep 600 & echo $! >> $1`);
    const pids = await pidsIn(join(folder, 'pids'), 2);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(pids.every(isRunning)).toBe(true);
    await child.close();
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('leaves alone who merely runs beside it', async () => {
    const other = await shell('echo $$ >> $1; exec sleep 600');
    await pidsIn(join(folder, 'pids'), 1);
    const child = await shell('exec sleep 600');
    await child.end();
    expect(isRunning(other.pid)).toBe(true);
    expect((await treeMembers({ pid: other.pid, started: 'another time', mark: 'no such mark' })).members).toEqual([]);
  });

  it('comes with the close of the starter', async () => {
    const one = await shell('sleep 600');
    const two = await shell('sleep 600 & wait');
    await children.close();
    expect([one.pid, two.pid].filter(isRunning)).toEqual([]);
  });
});
