// What patterns deny is looked for once at a time, for all who ask meanwhile.

import { mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';

const looks = vi.hoisted(() => {
  const gate = () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    return { open, opened };
  };
  return { now: 0, most: 0, all: 0, hasBegun: gate(), mayEnd: gate() };
});
vi.mock('../../../src/sandbox/expansion.ts', async (original) => {
  const real = await original<typeof import('../../../src/sandbox/expansion.ts')>();
  const expand: typeof real.expand = async (...given) => {
    looks.all += 1;
    looks.now += 1;
    looks.most = Math.max(looks.most, looks.now);
    try {
      const found = await real.expand(...given);
      looks.hasBegun.open();
      await looks.mayEnd.opened;
      return found;
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
  await looks.hasBegun.opened;
  await symlink('plain', join(folder, 'late.key'));
  const asked = Array.from({ length: 20 }, () => deniedBy(patterns));
  looks.mayEnd.open();
  await first;
  expect(looks.most).toBe(1);
  expect(looks.all).toBeLessThanOrEqual(3);
  for (const isDenied of await Promise.all(asked)) expect(isDenied(join(folder, 'plain'))).toBe(true);
  const other = { ...patterns, all: readPatterns('*.pem', folder) };
  expect((await deniedBy(other))(join(folder, 'plain'))).toBe(false);
});
