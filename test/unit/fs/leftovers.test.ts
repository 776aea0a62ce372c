// What a server that was killed left in other people's folders is removed by the next one, and nothing else.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { openLeftovers } from '../../../src/fs/leftovers.ts';

const log = silentLog();
const TEMPORARY = '.heddle-0123456789abcdef.tmp';

let base: string;
let notes: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'heddle-test-'));
  notes = join(base, 'notes');
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const at = (...names: string[]): string => join(base, ...names);

it('removes temporary files and trees, and folders that are still empty', async () => {
  const before = await openLeftovers(notes, log);
  for (const name of ['a', 'b', 'c', 'd']) mkdirSync(at(name));
  writeFileSync(at('a', TEMPORARY), 'half');
  mkdirSync(at('b', TEMPORARY, 'inner'), { recursive: true });
  writeFileSync(at('b', TEMPORARY, 'inner', 'file'), '');
  mkdirSync(at('c', '.git'));
  for (const path of [at('a', TEMPORARY), at('b', TEMPORARY), at('c', '.git'), at('d', TEMPORARY)]) before.note(path);
  await openLeftovers(notes, log);
  expect(['a', 'b', 'c', 'd', 'notes'].map((name) => readdirSync(at(name)))).toEqual([[], [], [], [], []]);
});

it('leaves what is in use by now, what is no folder, and what a link leads to', async () => {
  const before = await openLeftovers(notes, log);
  mkdirSync(at('used'));
  writeFileSync(at('used', 'file'), 'kept');
  writeFileSync(at('file'), 'kept');
  symlinkSync(at('used'), at('link'));
  symlinkSync(at('used'), at(TEMPORARY));
  for (const name of ['used', 'file', 'link', TEMPORARY]) before.note(at(name));
  await openLeftovers(notes, log);
  expect([at('used', 'file'), at('file')].map((path) => readFileSync(path, 'utf8'))).toEqual(['kept', 'kept']);
  expect([existsSync(at('link')), readdirSync(notes)]).toEqual([true, []]);
});

it('knows nothing of what was taken back, and lets work go on where nothing can be noted', async () => {
  const leftovers = await openLeftovers(notes, log);
  mkdirSync(at('.git'));
  leftovers.note(at('.git'))();
  await openLeftovers(notes, log);
  expect(existsSync(at('.git'))).toBe(true);
  rmSync(notes, { recursive: true });
  expect(() => leftovers.note(at('.git'))()).not.toThrow();
});
