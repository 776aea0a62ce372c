// Programs that do all they can not to be found again, and those beside them that must not be touched.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { libraryOfCalls } from '../../src/children/limit.ts';
import { type Children, createChildren } from '../../src/children/spawn.ts';
import { eventually, isRunning, pidsIn } from '../unit/children/waiting.ts';

/** Where they can be found at all. */
export const canBeFound = libraryOfCalls() !== undefined;
if (!canBeFound)
  console.warn('SKIPPED: programs that get away: this system, or an install without koffi, cannot mark them for good');

const SCRIPT = fileURLToPath(new URL('./escape.sh', import.meta.url));

/** A shell line that starts one of them; `hop` and `fork` for `times` at most. */
export const escaping = (how: 'alone' | 'twice' | 'hop' | 'fork', file: string, times = 2_000): string =>
  how === 'hop' || how === 'fork'
    ? `setsid env -i /bin/bash ${SCRIPT} ${how} ${file} ${times} </dev/null >/dev/null 2>&1 &`
    : `/bin/bash ${SCRIPT} ${how} ${file};`;

/** Both plain ones; what runs on adds its pid to the file as well. */
export const escapes = (file: string): string => `${escaping('alone', file)} ${escaping('twice', file)}`;

/** All that have told their pids. */
export function toldIn(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return []; // none has
  }
}

/** Settles when none of them runs. */
export const goneAll = (file: string): Promise<true> =>
  eventually('the end of all that got away', () => !toldIn(file).some(isRunning)) as Promise<true>;

/** Whether others are still started that tell their pids, while as many programs as some of them need are started and end. */
export function goesOn(file: string): boolean {
  const before = toldIn(file).length;
  spawnSync('/bin/bash', ['-c', 'for ((count = 0; count < 100; count++)); do /bin/true; done']);
  return toldIn(file).length > before;
}

export interface Bystanders {
  readonly pids: readonly number[];
  end(): Promise<void>;
}

/** One that nobody marked and one of another server, both of the same kind as those that are ended. */
export async function startBystanders(folder: string): Promise<Bystanders> {
  const files = ['nobodys', 'anothers'].map((name) => join(folder, name)) as [string, string];
  const nobodys: ChildProcess = spawn('/bin/bash', ['-c', escaping('alone', files[0])], { stdio: 'ignore' });
  await new Promise((resolve) => nobodys.once('exit', resolve));
  const another: Children = createChildren();
  const argv: [string, ...string[]] = ['/bin/bash', '-c', `${escaping('alone', files[1])} exec sleep 600`];
  const spec = { argv, cwd: '/', env: { PATH: '/usr/bin:/bin' }, stdin: 'none', output: 'merged' } as const;
  const started = await another.start(spec, new AbortController().signal);
  const pids = (await Promise.all(files.map((file) => pidsIn(file, 1)))).flat();
  return {
    pids,
    async end() {
      await started.kill();
      await another.close();
      const [pid] = pids as [number];
      if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    },
  };
}

/** They stand beside all tests of a file; tells of each whether it still runs. */
export function bystandersOfFile(): () => boolean[] {
  let folder: string;
  let bystanders: Bystanders;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'heddle-beside-'));
    bystanders = await startBystanders(folder);
  });
  afterAll(async () => {
    await bystanders.end();
    rmSync(folder, { recursive: true, force: true });
  });
  return () => bystanders.pids.map(isRunning);
}
