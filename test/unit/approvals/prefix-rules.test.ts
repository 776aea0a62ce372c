// Remembered prefixes: what a line of the file allows, and that nothing unreadable allows anything.

import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPrefixRules } from '../../../src/approvals/prefix-rules.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-rules-'));
  file = join(folder, 'rules', 'default.rules');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);

/** Whether rules of this text cover a command. */
async function covers(text: string, ...argv: string[]): Promise<boolean> {
  await writeFile(at('hand.rules'), text);
  return createPrefixRules(at('hand.rules')).covers(argv);
}

const GIT_STATUS = 'prefix_rule(pattern=["git", "status"], decision="allow")';

describe('a rule', () => {
  test('covers its words and what follows them, not other words', async () => {
    expect(await covers(GIT_STATUS, 'git', 'status')).toBe(true);
    expect(await covers(GIT_STATUS, 'git', 'status', '--short')).toBe(true);
    expect(await covers(GIT_STATUS, 'git')).toBe(false);
    expect(await covers(GIT_STATUS, 'git', 'push')).toBe(false);
    expect(await covers(GIT_STATUS, 'git', 'status2')).toBe(false);
    expect(await covers(GIT_STATUS, 'sudo', 'git', 'status')).toBe(false);
  });

  test('may be written with blanks and a remark', async () => {
    const text = '# mine\n\n  prefix_rule( pattern = ["ls"] , decision = "allow" )  # listing\r\n'.replace('\r', '');
    expect(await covers(text, 'ls', '-l')).toBe(true);
  });

  test.each([
    ['an empty pattern', 'prefix_rule(pattern=[], decision="allow")'],
    ['another decision', 'prefix_rule(pattern=["ls"], decision="forbidden")'],
    ['no decision', 'prefix_rule(pattern=["ls"])'],
    ['words that are no texts', 'prefix_rule(pattern=["ls", 1], decision="allow")'],
    ['broken JSON', 'prefix_rule(pattern=["ls", decision="allow")'],
    ['a remark in front', `# ${GIT_STATUS.replace('git', 'ls')}`],
    ['something behind', 'prefix_rule(pattern=["ls"], decision="allow") or true'],
    ['nonsense', 'allow everything'],
  ])('with %s allows nothing, and the next line counts', async (_, line) => {
    expect(await covers(line, 'ls')).toBe(false);
    expect(await covers(`${line}\n${GIT_STATUS}\n`, 'git', 'status')).toBe(true);
  });
});

test('without a file nothing is covered', async () => {
  expect(await createPrefixRules(file).covers(['ls'])).toBe(false);
});

test('what is remembered is covered at once and after a new start, in a file that only its owner reads', async () => {
  const rules = createPrefixRules(file);
  await Promise.all([rules.remember(['git', 'log']), rules.remember(['echo', 'it\'s "quoted"\n'])]);
  for (const each of [rules, createPrefixRules(file)]) {
    expect(await each.covers(['git', 'log', '-1'])).toBe(true);
    expect(await each.covers(['echo', 'it\'s "quoted"\n'])).toBe(true);
    expect(await each.covers(['git', 'push'])).toBe(false);
  }
  expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toHaveLength(2);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test('a line written by hand counts at once', async () => {
  const rules = createPrefixRules(file);
  await rules.remember(['ls']);
  await writeFile(file, '');
  expect(await rules.covers(['ls'])).toBe(false);
  await writeFile(file, GIT_STATUS);
  expect(await rules.covers(['git', 'status'])).toBe(true);
});

test('a file that cannot be read is an error, not a yes', async () => {
  await expect(createPrefixRules(folder).covers(['ls'])).rejects.toMatchObject({ code: 'EISDIR' });
});
