// When the server is killed and cannot clean up: no process that it started outlives it for long.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lookAround } from '../../../src/children/processes.ts';
import { eventually, isRunning, pidsIn } from './waiting.ts';

/** A server in small: starts three commands that try to get away, tells its watchdog's pid, and waits. */
const SERVER = `
  import { createChildren } from ${JSON.stringify(new URL('../../../src/children/spawn.ts', import.meta.url).href)};
  const [file, polite] = process.argv.slice(-2);
  const children = createChildren();
  process.on('SIGTERM', () => children.close().then(() => process.exit(0)));
  const forever = new AbortController().signal;
  const scripts = [
    "trap '' TERM; echo $$ >> $0; while :; do sleep 600; done",
    "setsid sleep 600 & echo $! >> $0; wait",
    "env -i /bin/sleep 600 & echo $! >> $0; kill -STOP $$",
  ];
  for (const script of scripts)
    await children.start({ argv: ['bash', '-c', script, file], cwd: '/', env: { PATH: '/usr/bin:/bin' }, stdin: 'none', output: 'merged' }, forever);
  setInterval(() => {}, 1000);
`;

let folder: string;
let server: ChildProcess;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-watchdog-'));
  server = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', SERVER, join(folder, 'pids'), 'x'],
    {
      stdio: 'inherit',
    },
  );
});

afterEach(() => {
  server.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** By its file: what a process is called is its own choice. */
function programOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined;
  }
}

async function watchdogOf(pid: number): Promise<number> {
  const found = (await lookAround()).all.find((one) => one.parent === pid && programOf(one.pid) === process.execPath);
  if (!found) throw new Error('the server has no watchdog');
  return found.pid;
}

describe('the watchdog', () => {
  it('ends every tree after kill -9 of the server, and then itself', async () => {
    const pids = await pidsIn(join(folder, 'pids'), 3);
    const watchdog = await watchdogOf(server.pid!);
    server.kill('SIGKILL');
    await eventually('all children are gone', () => !pids.some(isRunning));
    await eventually('the watchdog is gone', () => !isRunning(watchdog));
    const all = (await lookAround({ prefix: '' })).all;
    const left = all.filter(({ pid, parent, mark }) => mark && (pids.includes(pid) || pids.includes(parent)));
    expect(left).toEqual([]);
  });

  it('goes quietly when the server closes in order', async () => {
    const pids = await pidsIn(join(folder, 'pids'), 3);
    const watchdog = await watchdogOf(server.pid!);
    const exited = new Promise((resolve) => server.once('exit', (code) => resolve(code)));
    server.kill('SIGTERM');
    expect(await exited).toBe(0);
    expect([watchdog, ...pids].filter(isRunning)).toEqual([]);
  });
});
