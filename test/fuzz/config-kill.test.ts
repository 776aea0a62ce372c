// kill -9 while a setting is written: the file is one whole version, none older than the last that was reported.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 4);

/** Gives the last number that was reported to be in place. */
async function writeUntilKilled(file: string, first: number, after: number): Promise<number> {
  const program = fileURLToPath(new URL('config-kill-child.mts', import.meta.url));
  const args = ['--import', 'tsx', program, file, String(first)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const seen: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== '') seen.push(line);
    if (seen.length === after) child.kill('SIGKILL');
  }
  const [, signal] = await exit;
  expect(signal).toBe('SIGKILL');
  return Number(seen.at(-1));
}

test(`${ROUNDS} times`, { timeout: ROUNDS * 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-config-kill-'));
  try {
    const file = join(folder, 'config.yaml');
    const rest = Array.from({ length: 200 }, (_, index) => `# line ${index}\nk${index}: "${index}"\n`).join('');
    await writeFile(file, `round: 0 # counts\n${rest}`);
    let next = 1;
    for (let round = 0; round < ROUNDS; round += 1) {
      const last = await writeUntilKilled(file, next, 1 + (round % 3));
      const text = await readFile(file, 'utf8');
      const found = Number(/^round: (\d+) # counts\n/.exec(text)?.[1]);
      expect(text.slice(text.indexOf('\n') + 1) === rest).toBe(true);
      expect([last, last + 1]).toContain(found);
      next = found + 1;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
