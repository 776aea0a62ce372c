// Remembered prefixes: what a line of the file allows, and that nothing unreadable allows anything.

import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPrefixRules, type PrefixRules } from '../../../src/approvals/prefix-rules.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-rules-'));
  file = join(folder, 'rules', 'default.rules');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);

const shell = (line: string) => ['/bin/bash', '-lc', line];

/** Whether rules allow a simple command. */
const allows = async (rules: PrefixRules, argv: readonly string[]): Promise<boolean> =>
  (await rules.decide([argv], shell(argv.join(' ')))) === 'allow';

/** Whether rules of this text allow a command. */
async function covers(text: string, ...argv: string[]): Promise<boolean> {
  await writeFile(at('hand.rules'), text);
  return allows(createPrefixRules(at('hand.rules')), argv);
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
    ['another decision', 'prefix_rule(pattern=["ls"], decision="perhaps")'],
    ['a decision against it', 'prefix_rule(pattern=["ls"], decision="forbidden")'],
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

describe('rules together', () => {
  const decide = async (lines: readonly string[], commands: readonly string[][] | undefined, line = 'x') => {
    await writeFile(at('hand.rules'), lines.join('\n'));
    return createPrefixRules(at('hand.rules')).decide(commands, shell(line));
  };
  const rule = (pattern: unknown, decision: string) =>
    `prefix_rule(pattern=${JSON.stringify(pattern)}, decision="${decision}")`;
  const RULES = [rule(['git'], 'allow'), rule(['git', ['push', 'pull']], 'prompt'), rule(['rm'], 'forbidden')];

  test('say the strictest of what they say', async () => {
    expect(await decide(RULES, [['git', 'status']])).toBe('allow');
    expect(await decide(RULES, [['git', 'pull', '-f']])).toBe('prompt');
    expect(await decide([...RULES].reverse(), [['git', 'push']])).toBe('prompt');
    expect(
      await decide(RULES, [
        ['git', 'status'],
        ['git', 'push'],
        ['rm', 'x'],
      ]),
    ).toBe('forbidden');
    expect(await decide(RULES, [['ls'], ['git', 'push']])).toBe('prompt');
  });

  test('allow a line only where they allow all of it', async () => {
    expect(
      await decide(RULES, [
        ['git', 'status'],
        ['git', 'log'],
      ]),
    ).toBe('allow');
    expect(await decide(RULES, [['git', 'status'], ['ls']])).toBeUndefined();
    expect(await decide(RULES, undefined, 'git $(rm x)')).toBeUndefined();
    expect(await decide(RULES, [])).toBeUndefined();
  });

  test('about the shell with a line are about exactly this line', async () => {
    const whole = [rule(shell('git $(rm x)'), 'allow')];
    expect(await decide(whole, undefined, 'git $(rm x)')).toBe('allow');
    expect(await decide(whole, undefined, 'git $(rm y)')).toBeUndefined();
  });
});

test('without a file nothing is covered', async () => {
  expect(await allows(createPrefixRules(file), ['ls'])).toBe(false);
});

test('what is remembered is covered at once and after a new start, in a file that only its owner reads', async () => {
  const rules = createPrefixRules(file);
  await Promise.all([rules.remember(['git', 'log']), rules.remember(['echo', 'it\'s "quoted"\n'])]);
  for (const each of [rules, createPrefixRules(file)]) {
    expect(await allows(each, ['git', 'log', '-1'])).toBe(true);
    expect(await allows(each, ['echo', 'it\'s "quoted"\n'])).toBe(true);
    expect(await allows(each, ['git', 'push'])).toBe(false);
  }
  expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toHaveLength(2);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test('a line written by hand counts at once', async () => {
  const rules = createPrefixRules(file);
  await rules.remember(['ls']);
  await writeFile(file, '');
  expect(await allows(rules, ['ls'])).toBe(false);
  await writeFile(file, GIT_STATUS);
  expect(await allows(rules, ['git', 'status'])).toBe(true);
});

test('a file that cannot be read is an error, not a yes', async () => {
  await expect(allows(createPrefixRules(folder), ['ls'])).rejects.toMatchObject({ code: 'EISDIR' });
});
