// Random writes to generated YAML files: what was asked for is there, and every byte of everything else.

import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { isAppError } from '../../src/base/errors.ts';
import { type ConfigEdit, edited } from '../../src/config/edits.ts';
import { isTable, type Table } from '../../src/config/tables.ts';
import { editedYaml } from '../../src/config/yaml-edit.ts';
import { fc } from '../harness/chance.ts';
import { choicesOf } from '../harness/schedule.ts';
import { type Written, type YamlFile, yamlFile } from '../harness/yaml-files.ts';

const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 400);

const VALUES: readonly ConfigEdit['value'][] = [
  'text',
  'two words',
  '',
  'a: b # c',
  "it's",
  '"',
  ' x ',
  'no',
  '12',
  'line\nbreak\r\n',
  '\u0085\u2028\ufeff\u0007',
  '\ud800',
  '😀',
  0,
  -1.5,
  1e21,
  true,
  false,
  [],
  {},
  ['a', 1, { b: [true] }],
  { k: 'v' },
  { k: { 'l.m': [] }, '': 1, true: 'x' },
];

interface Round {
  readonly file: YamlFile;
  readonly edit: ConfigEdit;
  /** The setting that is written, where the file has it. */
  readonly own: Written | undefined;
}

function roundOf(seed: number): Round | undefined {
  const file = yamlFile(seed);
  const document = parseDocument(file.text, { logLevel: 'silent' });
  if (document.errors.length > 0) return undefined;
  const roll = choicesOf(seed ^ 0x5bd1e995).below;
  const known = file.written[roll(file.written.length + 2)];
  const path = known
    ? roll(5) === 0
      ? [...known.path, 'added']
      : known.path
    : [`new${roll(3)}`, 'x', 'y'].slice(0, 1 + roll(3));
  const value = roll(4) === 0 ? null : (VALUES[roll(VALUES.length)] ?? null);
  const own = file.written.find((each) => isDeepStrictEqual(each.path, path));
  return { file, own, edit: { path, value, mergeStrategy: roll(2) === 0 ? 'upsert' : 'replace' } };
}

const read = (text: string): Table => (parse(text, { logLevel: 'silent' }) as Table | null) ?? {};

const commentsOf = (text: string): string[] => text.match(/# c\d+;/g) ?? [];

function checkBytes(round: Round, after: string): void {
  const { file, own } = round;
  const before = file.text;
  const kept = own ? before.slice(0, own.start) + before.slice(own.end) : before;
  const lost = commentsOf(kept).filter((comment) => !after.includes(comment));
  expect(lost, 'comments elsewhere').toEqual([]);
  const { start, end, isInsertion } = regionOf(round);
  expect(after.slice(0, start), 'bytes before').toBe(before.slice(0, start));
  expect(after.slice(after.length - (before.length - end)), 'bytes behind').toBe(before.slice(end));
  if (isInsertion) expect(isWithin(before, after), 'all bytes').toBe(true);
}

/** What a write may touch: the setting itself, or the table that it comes into; with it the comma or the line that it leaves. */
function regionOf({ file, own, edit }: Round): { start: number; end: number; isInsertion: boolean } {
  const { text } = file;
  const near = (path: readonly string[]) => file.written.find((each) => isDeepStrictEqual(each.path, path));
  if (!own) {
    const owner = edit.path.map((_, at) => near(edit.path.slice(0, -1 - at))).find((each) => each !== undefined);
    if (!owner) return { start: 0, end: text.length, isInsertion: !/\*n\d/.test(text) };
    const wasTable = isTable(owner.path.reduce<unknown>((table, key) => (table as Table)[key], read(text)));
    return {
      start: owner.start,
      end: lineEnd(text, wholeEnd(text, owner)),
      isInsertion: wasTable && !owner.isShared && !/\*n\d/.test(text.slice(owner.start, owner.end)),
    };
  }
  if (edit.value !== null) return { start: own.start, end: wholeEnd(text, own), isInsertion: false };
  const siblings = file.written.filter(
    ({ path }) => path.length === own.path.length && isDeepStrictEqual(path.slice(0, -1), own.path.slice(0, -1)),
  );
  const owner = siblings.length === 1 ? near(own.path.slice(0, -1)) : undefined;
  const before = text.slice(0, own.start).replace(/\s*$/, '');
  const comma = /^\s*(?:#[^\n]*\s*)*,?[ \t]*(?:\r?\n)?/.exec(text.slice(own.end))?.[0].length ?? 0;
  const start = owner?.start ?? before.replace(/,(?:\s*#[^\n]*)*$/, '').length;
  return { start, end: own.end + comma, isInsertion: false };
}

/** Blank lines behind a text that keeps them are part of it. */
function wholeEnd(text: string, { start, end }: Written): number {
  const keepsBlanks = /[|>]\+/.test(text.slice(start, end));
  return keepsBlanks ? end + (/^\s*\n/.exec(text.slice(end))?.[0].length ?? 0) : end;
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end + 1;
}

/** Whether one text is what is left of the other when some of its characters are taken out. */
function isWithin(part: string, whole: string): boolean {
  let at = 0;
  for (const character of whole) if (part.startsWith(character, at)) at += character.length;
  return at === part.length;
}

test(`${ROUNDS} writes change their own bytes only`, { timeout: 120_000 + ROUNDS * 100 }, async () => {
  const seen = { written: 0, refused: 0, unreadable: 0 };
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 - 1 }), async (seed) => {
      const round = roundOf(seed);
      if (!round) {
        seen.unreadable += 1;
        return;
      }
      const { file, edit, own } = round;
      let target: Table;
      let after: string;
      try {
        target = edited(read(file.text), [edit]);
        after = await editedYaml(file.text, target);
      } catch (error) {
        if (!isAppError(error)) throw error;
        seen.refused += 1;
        // Nothing is refused but what is shared, and what would have to become a table first.
        const isNoTable = error.message.includes('is not a table');
        expect(isNoTable || /[&*]n\d/.test(file.text), error.message).toBe(true);
        return;
      }
      seen.written += 1;
      expect(read(after)).toEqual(target);
      if (!isDeepStrictEqual(read(file.text), target)) checkBytes({ file, edit, own }, after);
      else expect(after).toBe(file.text);
    }),
    { numRuns: ROUNDS },
  );
  console.info(`config writes: ${JSON.stringify(seen)}`);
  expect(seen.written).toBeGreaterThan(ROUNDS / 2);
});
