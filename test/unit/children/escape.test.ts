// What leaves session, environment and parent behind is found all the same, and only that.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { markInLimits } from '../../../src/children/marks.ts';
import { type Children, createChildren, type Started } from '../../../src/children/spawn.ts';
import { bystandersOfFile, canBeFound, escapes, escaping, goesOn, goneAll, toldIn } from '../../harness/escapes.ts';
import { eventually, isRunning, pidsIn } from './waiting.ts';

const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
let folder: string;
let file: string;
let children: Children;
const bystanders = bystandersOfFile();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-escape-'));
  file = join(folder, 'pids');
  children = createChildren();
});

afterEach(async () => {
  await children.close();
  for (const pid of toldIn(file).filter(isRunning)) process.kill(pid, 'SIGKILL'); // only where a test has failed
  rmSync(folder, { recursive: true, force: true });
  expect(bystanders()).toEqual([true, true]);
});

const forever = new AbortController().signal;
const start = (script: string) =>
  children.start({ argv: ['bash', '-c', script], cwd: folder, env, stdin: 'none', output: 'merged' }, forever);

/** By the process itself at first, then by the helper, then on a terminal. */
const STARTERS: Readonly<Record<string, (script: string) => Promise<Started>>> = {
  'the process itself': start,
  async 'the helper'(script) {
    await eventually('a program that the helper starts', async () => {
      const parent = Number(await text((await start('echo $PPID')).stdout));
      return parent !== process.pid;
    });
    return start(script);
  },
  'the process itself, on a terminal': (script) =>
    children.startOnTerminal({ argv: ['bash', '-c', script], cwd: folder, env, size: { rows: 24, cols: 80 } }, forever),
};

describe.skipIf(!canBeFound).each(Object.entries(STARTERS))('what was started by %s and got away', (_, starting) => {
  it('ends with its tree', async () => {
    const child = await starting(`${escapes(file)} exec sleep 600`);
    const pids = await pidsIn(file, 2);
    expect(await child.end()).toEqual({ left: [] });
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('is killed with its tree', async () => {
    const child = await starting(`${escapes(file)} exec sleep 600`);
    const pids = await pidsIn(file, 2);
    expect(await child.kill()).toEqual({ left: [] });
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('is swept after the exit', async () => {
    const child = await starting(`${escapes(file)} until [ $(wc -l <${file}) = 2 ]; do sleep 0.01; done`);
    await child.exited;
    const pids = await pidsIn(file, 2);
    expect(pids.every(isRunning)).toBe(true);
    expect(await child.sweep()).toEqual({ left: [] });
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('ends with all', async () => {
    await starting(`${escapes(file)} exec sleep 600`);
    const pids = await pidsIn(file, 2);
    await children.close();
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it('is found although it goes on as another process every moment', async () => {
    const child = await starting(`${escaping('hop', file)} exec sleep 600`);
    await pidsIn(file, 10);
    expect(await child.end()).toEqual({ left: [] });
    expect(goesOn(file)).toBe(false);
  });

  it('is found although it is forked while others are ended', async () => {
    const child = await starting(`${escaping('fork', file)} exec sleep 600`);
    await pidsIn(file, 10);
    expect(await child.end()).toEqual({ left: [] });
    expect(goesOn(file)).toBe(false);
    await goneAll(file);
  });

  it('is not looked for among those of another program', async () => {
    const other = join(folder, 'other');
    await starting(`${escapes(other)} exec sleep 600`);
    const child = await starting(`${escapes(file)} exec sleep 600`);
    await Promise.all([pidsIn(file, 2), pidsIn(other, 2)]);
    await child.kill();
    expect(toldIn(file).filter(isRunning)).toEqual([]);
    expect(toldIn(other).map(isRunning)).toEqual([true, true]);
    await children.close();
    expect(toldIn(other).filter(isRunning)).toEqual([]);
  });

  it('had the mark in its limit, and the next program of anybody else has not', async () => {
    const limits = join(folder, 'limits');
    const child = await starting(`cat /proc/self/limits >${limits}`);
    await child.exited;
    expect(markInLimits(readFileSync(limits, 'latin1'), child.mark)).toBe(child.mark);
    for (const table of [readFileSync('/proc/self/limits', 'latin1'), limitsOfOthers()])
      expect(markInLimits(table, child.mark)).toBeUndefined();
  });
});

/** The limits of a program that is none of our children's. */
const limitsOfOthers = (): string => execFileSync('/bin/cat', ['/proc/self/limits'], { encoding: 'latin1' });

describe.skipIf(!canBeFound)('a contained program', () => {
  it('has the mark of its environment only, when it is not the helper that starts it', async () => {
    const argv: [string, ...string[]] = ['cat', '/proc/self/limits'];
    const spec = { argv, cwd: folder, env, stdin: 'none', output: 'merged', isContained: true } as const;
    const child = await children.start(spec, forever);
    expect(markInLimits(await text(child.stdout), child.mark)).toBeUndefined();
  });
});
