// kill -9 while a file is replaced: what is there is one whole version, none older than the last that was reported, and no rest later.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openLeftovers } from '../../src/fs/leftovers.ts';

const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 6);
const SIZE = 1024 * 1024;

/** Gives the last letter that was reported to be in place. */
async function replaceUntilKilled(path: string, notes: string, after: number): Promise<string> {
  const program = fileURLToPath(new URL('file-kill-child.mts', import.meta.url));
  const args = ['--import', 'tsx', program, path, notes];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const seen: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== '') seen.push(line);
    if (seen.length === after) child.kill('SIGKILL');
  }
  const [, signal] = await exit;
  expect(signal).toBe('SIGKILL');
  return seen.at(-1)!;
}

test(`${ROUNDS} times`, { timeout: ROUNDS * 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-kill-'));
  try {
    const path = join(folder, 'file');
    await writeFile(path, Buffer.alloc(SIZE, 'z'), { mode: 0o640 });
    for (let round = 0; round < ROUNDS; round += 1) {
      const last = await replaceUntilKilled(path, join(folder, 'notes'), 1 + round);
      const content = await readFile(path, 'latin1');
      const letter = content[0]!;
      expect(content).toHaveLength(SIZE);
      expect(content === letter.repeat(SIZE)).toBe(true);
      const next = String.fromCharCode(97 + ((last.charCodeAt(0) - 96) % 26));
      expect([last, next]).toContain(letter);
      expect((await stat(path)).mode & 0o777).toBe(0o640);
    }
    await openLeftovers(join(folder, 'notes'), silentLog());
    expect((await readdir(folder)).sort()).toEqual(['file', 'notes']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
