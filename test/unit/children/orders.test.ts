// Programs that the helper starts for us are like those that we start ourselves: output, ends, refusals, descriptors, and the end of all.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lookAround } from '../../../src/children/processes.ts';
import { type Child, type Children, type ChildSpec, createChildren } from '../../../src/children/spawn.ts';
import { eventually, isRunning, pidsIn } from './waiting.ts';

const isLinux = process.platform === 'linux';
if (!isLinux) console.warn('SKIPPED: a helper starts programs on Linux only');

const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LETTER: 'ä' };
let folder: string;
let children: Children;
let owner: AbortController;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-orders-'));
  children = createChildren();
  owner = new AbortController();
});

afterEach(async () => {
  await children.close();
  rmSync(folder, { recursive: true, force: true });
});

const start = (argv: ChildSpec['argv'], more: Partial<ChildSpec> = {}): Promise<Child> =>
  children.start({ argv, cwd: folder, env, stdin: 'none', output: 'split', ...more }, owner.signal);

const shell = (script: string, more: Partial<ChildSpec> = {}): Promise<Child> =>
  start(['bash', '-c', script, 'bash', join(folder, 'pids')], more);

async function parentOf(script = 'echo $PPID'): Promise<number> {
  return Number(await text((await shell(script)).stdout));
}

/** The helper, once programs are started by it. */
function helper(): Promise<number> {
  return eventually('a program that the helper starts', async () => {
    const parent = await parentOf();
    return parent !== process.pid && parent;
  });
}

describe.skipIf(!isLinux)('a program that the helper has started', () => {
  beforeEach(async () => void (await helper()));

  it('has its arguments, name, folder, environment and input, and prints on two pipes', async () => {
    const pipes = '[ -p /dev/stdin -a -p /dev/stdout ] && echo pipes';
    const script = `read line; echo "$0 $line $LETTER $PWD"; ${pipes}; echo oops >&2`;
    const child = await start(['bash', '-c', script, '"quoted"\n'], { stdin: 'pipe' });
    child.stdin?.end('typed\n');
    const [said, wrong] = await Promise.all([text(child.stdout), text(child.stderr!)]);
    expect(said).toBe(`"quoted"\n typed ä ${folder}\npipes\n`);
    expect(wrong).toBe('oops\n');
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  it('keeps the order of merged output', async () => {
    const child = await shell('for i in {1..50}; do echo $i; echo $i >&2; done', { output: 'merged' });
    const numbers = Array.from({ length: 50 }, (_, index) => `${index + 1}\n${index + 1}\n`);
    expect(await text(child.stdout)).toBe(numbers.join(''));
  });

  it('leads a session of its own, and has no descriptor but its three', async () => {
    const ids = 'read -r _ _ _ _ group session _ </proc/$$/stat; echo $group $session';
    const others = 'for each in /proc/$$/fd/*; do [ $(basename $each) -ge 3 ] && readlink $each; done';
    const child = await shell(`${ids}; ${others}`);
    const [led, ...links] = (await text(child.stdout)).trim().split('\n');
    expect(led).toBe(`${child.pid} ${child.pid}`);
    // Nothing stands where the helper would have inherited something.
    expect(links.filter((link) => link !== '/dev/null')).toEqual([]);
  });

  it('tells code and signal, each once all that was printed is in the pipe', async () => {
    const codes = await Promise.all([0, 3, 255].map(async (code) => (await shell(`exit ${code}`)).exited));
    expect(codes.map(({ code }) => code)).toEqual([0, 3, 255]);
    const killed = await shell('kill -SEGV $$');
    expect(await killed.exited).toEqual({ code: null, signal: 'SIGSEGV' });
  });

  it('is refused as one of ours would be', async () => {
    const script = join(folder, 'script');
    writeFileSync(script, '#!/no/such/interpreter\n', { mode: 0o755 });
    await expect(start([script])).rejects.toMatchObject({ kind: 'notFound' });
    await expect(start(['true', 'a\0b'])).rejects.toMatchObject({ kind: 'invalid' });
    await expect(start(['true', 'x'.repeat(3_000_000)])).rejects.toMatchObject({ kind: 'invalid' });
    expect(await parentOf()).not.toBe(process.pid);
  });

  it('ends with its owner, and with our end', async () => {
    const [first, second] = await Promise.all([shell('sleep 60'), shell('trap "" TERM; sleep 60 & sleep 60')]);
    owner.abort();
    expect(await first.exited).toEqual({ code: null, signal: 'SIGTERM' });
    await second.kill();
    await children.close();
    expect([first.pid, second.pid].filter(isRunning)).toEqual([]);
  });

  it('may stop the helper, which goes on as long as something is expected of it', async () => {
    const stopped = await helper();
    expect(await (await shell('kill -STOP $PPID; exit 3')).exited).toEqual({ code: 3, signal: null });
    const child = await shell('read; exit 5', { stdin: 'pipe' });
    process.kill(stopped, 'SIGSTOP');
    child.stdin?.end('\n');
    expect((await child.exited).code).toBe(5);
    process.kill(stopped, 'SIGSTOP');
    expect(await parentOf()).toBe(stopped);
    process.kill(stopped, 'SIGSTOP');
    await children.close();
    expect(isRunning(stopped)).toBe(false);
  });

  it('ends with the helper, and the next one is started all the same', async () => {
    const killed = await helper();
    const child = await shell('sleep 60 & echo $! >>$1; sleep 60');
    const [pid] = await pidsIn(join(folder, 'pids'), 1);
    process.kill(killed, 'SIGKILL');
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await eventually('the end of all of it', () => !isRunning(pid!) && !isRunning(child.pid));
    expect((await (await shell('exit 4')).exited).code).toBe(4);
    expect(await helper()).not.toBe(killed);
  });
});

/** A server in small: once programs are started by the helper it starts some that try to get away. */
const SERVER = `
  import { createChildren } from ${JSON.stringify(new URL('../../../src/children/spawn.ts', import.meta.url).href)};
  import { text } from 'node:stream/consumers';
  const file = process.argv.at(-1);
  const children = createChildren();
  const start = (script) =>
    children.start({ argv: ['bash', '-c', script, file], cwd: '/', env: { PATH: '/usr/bin:/bin' }, stdin: 'none', output: 'merged' }, new AbortController().signal);
  while (Number(await text((await start('echo $PPID')).stdout)) === process.pid);
  await start("trap '' TERM; echo $$ >> $0; while :; do sleep 600; done");
  await start("exec env -i /bin/bash -c 'echo $$ >> $0; while :; do sleep 600; done' $0");
  setInterval(() => {}, 1000);
`;

describe.skipIf(!isLinux)('after kill -9 of the server', () => {
  it('nothing that the helper has started is left, nor the helper', async () => {
    const file = join(folder, 'pids');
    const args = ['--import', 'tsx', '--input-type=module', '-e', SERVER, file];
    const server = spawn(process.execPath, args, { stdio: 'inherit' });
    try {
      const pids = await pidsIn(file, 2);
      const parents = (await lookAround()).all.filter(({ pid }) => pids.includes(pid)).map(({ parent }) => parent);
      expect(parents).toEqual([parents[0], parents[0]]);
      expect(parents[0]).not.toBe(server.pid);
      server.kill('SIGKILL');
      await eventually('the end of all', () => ![...pids, parents[0]!].some(isRunning));
    } finally {
      server.kill('SIGKILL');
    }
  });
});
