// What patterns match on disk, the links on the way, and the bounds beyond which nothing is told at all.

import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Bounds, expand } from '../../../src/sandbox/expansion.ts';
import { readPatterns } from '../../../src/sandbox/pattern.ts';
import { expandedUnprivileged, isRoot } from '../../harness/unprivileged.ts';

const WIDE: Bounds = { names: 1_000, matches: 100, levels: 64, ms: 60_000 };

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-test-')));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function file(name: string): string {
  const path = join(base, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'x');
  return path;
}

const found = (texts: readonly string[], { depth = Number.POSITIVE_INFINITY, bounds = WIDE } = {}) =>
  expand({ all: texts.flatMap((text) => readPatterns(text, base)), depth }, () => false, bounds);

const namesOf = async (...given: Parameters<typeof found>) =>
  (await found(...given)).matches.map(({ path }) => path.slice(base.length + 1)).sort();

test('files and folders, each once; what lies in a folder that is matched is not looked at', async () => {
  for (const name of ['a.key', 'x/b.key', 'x/y/.env', 'secrets/deep/c.key', 'x/plain']) file(name);
  expect(await namesOf(['**/*.key', '**/.env', '**/secrets', '**/*.{key,pem}'])).toEqual([
    ...['a.key', 'secrets', 'x/b.key', 'x/y/.env'],
  ]);
  expect(await namesOf(['*.key', 'missing/*', '*/*.key'])).toEqual(['a.key', 'x/b.key']);
});

test('as many levels as are wanted', async () => {
  for (const name of ['a.key', 'x/b.key', 'x/y/c.key']) file(name);
  expect(await namesOf(['**/*.key'], { depth: 1 })).toEqual(['a.key']);
  expect(await namesOf(['**/*.key'], { depth: 2 })).toEqual(['a.key', 'x/b.key']);
  expect(await namesOf(['**/*.key'], { depth: 3 })).toEqual(['a.key', 'x/b.key', 'x/y/c.key']);
});

test('links: what one leads to is matched by its name; folders are gone through where one name is asked for', async () => {
  file('real/.ssh/id');
  file('other');
  file('x/a.key');
  symlinkSync('../real', join(base, 'x/link'));
  symlinkSync('../other', join(base, 'x/b.key'));
  symlinkSync('a.key', join(base, 'x/c.key'));
  symlinkSync('nowhere', join(base, 'x/d.key'));
  symlinkSync('.', join(base, 'x/loop'));
  const { matches, links } = await found(['x/*/.ssh', 'x/*.key', '**/*.key']);
  expect(matches.map(({ path }) => path).sort()).toEqual(
    ['other', 'real/.ssh', 'x/a.key'].map((name) => join(base, name)),
  );
  // Without these two, something else would be hidden; `c.key` leads to what is matched anyway.
  expect([...links].sort()).toEqual([join(base, 'x/b.key'), join(base, 'x/link')]);
});

test('a shut folder is covered itself, since its owner could open it again', async () => {
  const shut = dirname(file('x/shut/a.key'));
  symlinkSync('x/shut/a.key', join(base, 'b.key'));
  chmodSync(shut, 0o000);
  try {
    expect(await expandedUnprivileged(base, 'x/**/*.key')).toEqual({ paths: [shut] });
    expect(await expandedUnprivileged(base, 'x/shut/*.key')).toEqual({ paths: [shut] });
    expect((await expandedUnprivileged(base, '*.key')).message).toMatch(/where .*b\.key leads/);
    chmodSync(shut, 0o311);
    expect(await expandedUnprivileged(base, 'x/**/*.key')).toEqual({ paths: [shut] });
  } finally {
    chmodSync(shut, 0o755);
  }
});

const SOMEBODY = 54_321;
const isOthers = isRoot || (lstatSync('/root', { throwIfNoEntry: false })?.uid === 0 && !existsSync('/root/.'));
if (!isOthers) console.warn('SKIPPED: no folder of somebody else is shut here');

test.skipIf(!isOthers)('a link into a shut folder of somebody else denies nothing that could be had', async () => {
  const shut = isRoot ? dirname(file('theirs/a.key')) : '/root';
  if (isRoot) {
    chmodSync(shut, 0o700);
    chownSync(shut, SOMEBODY, SOMEBODY);
  }
  symlinkSync(join(shut, 'a.key'), join(base, 'a.key'));
  expect(await expandedUnprivileged(base, '*.key')).toEqual({ paths: [] });
});

test('many names in one folder are no reason to go on beyond the time', async () => {
  for (let at = 0; at < 600; at++) file(`${at}.key`);
  expect(await namesOf(['*.key'], { bounds: { ...WIDE, matches: 1_000 } })).toHaveLength(600);
  // The first two looks at the clock are at the start and at the folder, the third is amid its names.
  const clock = vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValueOnce(0).mockReturnValue(Infinity);
  const looked = found(['*.key'], { bounds: { ...WIDE, matches: 1_000 } });
  await expect(looked).rejects.toMatchObject({ message: expect.stringMatching(/looked through in/) });
  clock.mockRestore();
});

test('more than can be looked at is nothing that a part is told of', async () => {
  for (let at = 0; at < 20; at++) file(`d${at}/a.key`);
  file('p/q/r/s/t/a.key');
  const refused = (what: RegExp) => ({ kind: 'forbidden', message: expect.stringMatching(what) });
  for (const [bounds, what] of [
    [{ names: 30 }, /`\*\*\/\*\.key` cannot be found: .* more than 30 files/],
    [{ matches: 10 }, /more than 10 matches/],
    [{ ms: -1 }, /in -1 ms/],
  ] as const)
    await expect(found(['**/*.key'], { bounds: { ...WIDE, ...bounds } })).rejects.toMatchObject(refused(what));
});

test('what lies too deep, or beside a name that is no text, is covered with its folder', async () => {
  file('p/q/r/s/t/a.key');
  expect(await namesOf(['**/*.key'], { bounds: { ...WIDE, levels: 4 } })).toEqual(['p/q/r/s']);
  expect(await namesOf(['*/*.key'], { bounds: { ...WIDE, levels: 1 } })).toEqual(['p']);
  mkdirSync(Buffer.concat([Buffer.from(`${base}/p/q/`), Buffer.from([0xff])]));
  expect(await namesOf(['**/*.key'])).toEqual(['p/q']);
  mkdirSync(Buffer.concat([Buffer.from(`${base}/`), Buffer.from([0xff])]));
  await expect(found(['**/*.key'])).rejects.toMatchObject({ message: expect.stringMatching(/no text/) });
});
