// Programs on terminals, pipes kept ready, and looking for leftovers: what they promise to whoever starts programs.

import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPipeMaker } from '../../../src/children/pipe.ts';
import { type Children, createChildren, type TerminalChild } from '../../../src/children/spawn.ts';
import { eventually, isRunning, pidsIn } from './waiting.ts';

const env = { PATH: '/usr/local/bin:/usr/bin:/bin', TERM: 'dumb' };
let folder: string;
let children: Children;
let owner: AbortController;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-terminal-')));
  children = createChildren();
  owner = new AbortController();
});

afterEach(async () => {
  await children.close();
  rmSync(folder, { recursive: true, force: true });
});

const start = (script: string): Promise<TerminalChild> =>
  children.startOnTerminal(
    { argv: ['bash', '-c', script, 'bash', join(folder, 'pids')], cwd: folder, env, size: { rows: 7, cols: 33 } },
    owner.signal,
  );

async function all({ terminal }: TerminalChild): Promise<string> {
  let text = '';
  for await (const chunk of terminal.output) text += chunk;
  return text;
}

describe('a program on a terminal', () => {
  it('has it as its controlling terminal, of the size asked for, in a session of its own', async () => {
    const child = await start('tty >/dev/null && stty size </dev/tty; ps -o pid=,sid=,pgid= -p $$');
    const [size, ids] = (await all(child)).split('\r\n');
    expect(size).toBe('7 33');
    expect((ids as string).trim().split(/\s+/).map(Number)).toEqual([child.pid, child.pid, child.pid]);
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  it('has told all that it printed when its exit is known, though somebody else holds the terminal', async () => {
    const child = await start('trap "" HUP; (sleep 60 & echo $! >>$1); head -c 3000 /dev/zero | tr "\\0" x; exit 3');
    let length = 0;
    child.terminal.output.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    expect(await child.exited).toEqual({ code: 3, signal: null });
    await eventually('the whole output', () => length === 3000);
    const [holder] = await pidsIn(join(folder, 'pids'), 1);
    expect((await child.sweep()).left).toEqual([]);
    expect(isRunning(holder as number)).toBe(false);
    child.terminal.output.destroy();
  });

  it('takes more than the terminal holds, and refuses what comes after the end', async () => {
    const child = await start('stty -echo raw; echo ready; head -c 100000 | wc -c');
    let output = '';
    child.terminal.output.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    await eventually('that it takes bytes as they are', () => output.includes('ready'));
    await child.terminal.write(Buffer.alloc(100_000, 'x'));
    await eventually('that it has read them all', () => output.includes('100000'));
    await child.exited;
    await expect(child.terminal.write(Buffer.from('x'))).rejects.toMatchObject({ kind: 'conflict' });
    expect(() => child.terminal.resize({ rows: 1, cols: 1 })).toThrow(/closed/);
  });

  it('is killed at once with all that is on the terminal', async () => {
    const child = await start('trap "" TERM HUP; echo $$ >>$1; sleep 60 & echo $! >>$1; wait; sleep 60');
    child.terminal.output.resume();
    const started = await pidsIn(join(folder, 'pids'), 2);
    expect((await child.kill()).left).toEqual([]);
    expect(started.some(isRunning)).toBe(false);
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    child.terminal.output.destroy();
  });

  it('is refused where folder or program are missing', async () => {
    const spec = { argv: ['no-such-program'] as [string], cwd: folder, env, size: { rows: 1, cols: 1 } };
    await expect(children.startOnTerminal(spec, owner.signal)).rejects.toMatchObject({ kind: 'notFound' });
  });
});

describe('leftovers', () => {
  it('of many programs are found and ended, and of others nothing is waited for', async () => {
    const spec = { cwd: folder, env, stdin: 'none', output: 'merged' } as const;
    const script = 'setsid sleep 60 & echo $! >>$1';
    const argv = ['bash', '-c', script, 'bash', join(folder, 'pids')] as const;
    const running = await Promise.all([
      ...Array.from({ length: 3 }, () =>
        children.start({ ...spec, argv: [...argv] as [string, ...string[]] }, owner.signal),
      ),
      children.start({ ...spec, argv: ['true'] }, owner.signal),
    ]);
    await Promise.all(running.map((each) => each.exited));
    const left = await pidsIn(join(folder, 'pids'), 3);
    const ends = await Promise.all(running.map((each) => each.sweep()));
    expect(ends.map((each) => each.left)).toEqual([[], [], [], []]);
    expect(left.some(isRunning)).toBe(false);
    for (const each of running) each.stdout.destroy();
  });
});

describe('pipes', () => {
  it('carry bytes both ways, leave no name behind, and are closed with their maker', async () => {
    const maker = createPipeMaker(folder);
    const many = await Promise.all(Array.from({ length: 40 }, () => maker.open(['out', 'in'])));
    expect(new Set(many.flatMap(({ pipes }) => pipes.map((each) => each.descriptor))).size).toBe(80);
    for (const { pipes, release } of many) {
      release();
      release();
      for (const { stream } of pipes) stream.destroy();
    }
    await maker.close();
    expect(readdirSync(folder)).toEqual([]);
    await expect(maker.open(Array.from({ length: 100 }, () => 'out' as const))).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });

  it('cannot be made where no name can', async () => {
    const maker = createPipeMaker(join(folder, 'missing'));
    await expect(maker.open(['out'])).rejects.toMatchObject({ kind: 'unavailable' });
    await maker.close();
  });
});
