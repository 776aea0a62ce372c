// What patterns deny is looked for once at a time, for all who ask meanwhile.

import { mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';

const looks = vi.hoisted(() => ({ now: 0, most: 0, all: 0 }));
vi.mock('../../../src/sandbox/expansion.ts', async (original) => {
  const real = await original<typeof import('../../../src/sandbox/expansion.ts')>();
  const expand: typeof real.expand = async (...given) => {
    looks.all += 1;
    looks.now += 1;
    looks.most = Math.max(looks.most, looks.now);
    try {
      return await real.expand(...given);
    } finally {
      looks.now -= 1;
    }
  };
  return { ...real, expand };
});

const { deniedBy } = await import('../../../src/agent/patch/denied.ts');
const { readPatterns } = await import('../../../src/sandbox/pattern.ts');

test('those who come while one is under way share the next, which sees what has come since', async () => {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'heddle-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'plain'), '');
  const patterns = { all: readPatterns('**/*.key', folder), depth: Number.POSITIVE_INFINITY };
  const first = deniedBy(patterns);
  await vi.waitUntil(() => looks.now === 1, { interval: 0 });
  await symlink('plain', join(folder, 'late.key'));
  const others = await Promise.all(Array.from({ length: 20 }, () => deniedBy(patterns)));
  await first;
  expect(looks.most).toBe(1);
  expect(looks.all).toBeLessThanOrEqual(3);
  for (const isDenied of others) expect(isDenied(join(folder, 'plain'))).toBe(true);
  const other = { ...patterns, all: readPatterns('*.pem', folder) };
  expect((await deniedBy(other))(join(folder, 'plain'))).toBe(false);
});
