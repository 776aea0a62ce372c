// Remembered prefixes: what a line of the file allows, and that nothing unreadable allows anything.

import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPrefixRules, type PrefixRules } from '../../../src/approvals/prefix-rules.ts';
import { type RulesFile, readRulesFile } from '../../../src/approvals/rules-file.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-rules-'));
  file = join(folder, 'rules', 'default.rules');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);

const shell = (line: string) => ['/bin/bash', '-lc', line];

/** What rules say of these commands, which are all of a line or only what is seen in it. */
const said = (rules: PrefixRules, simple: readonly (readonly string[])[] | undefined, line = 'x') =>
  rules.decide({ simple, all: simple ?? [], isWhole: true, shell: shell(line) });

/** Whether rules allow a simple command. */
const allows = async (rules: PrefixRules, argv: readonly string[]): Promise<boolean> =>
  (await said(rules, [argv], argv.join(' '))).decision === 'allow';

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
    ['a misspelt decision', 'prefix_rule(pattern=["ls"], decision="alow")'],
    ['a missing bracket', 'prefix_rule(pattern=["mv", decision="forbidden")'],
    ['nonsense', 'allow everything'],
  ])('beside %s allows nothing, and still forbids', async (_, line) => {
    await writeFile(at('hand.rules'), `${line}\n${GIT_STATUS}\nprefix_rule(pattern=["rm"], decision="forbidden")\n`);
    const rules = createPrefixRules(at('hand.rules'));
    expect(await said(rules, [['git', 'status']])).toMatchObject({ decision: undefined, hasFaults: true });
    expect(await said(rules, [['rm']])).toMatchObject({ decision: 'forbidden', hasFaults: true });
    expect(await rules.faults()).toEqual([expect.stringContaining(`${at('hand.rules')}:1:`)]);
    await writeFile(at('hand.rules'), GIT_STATUS);
    expect(await said(rules, [['git', 'status']])).toMatchObject({ decision: 'allow', hasFaults: false });
    expect(await rules.faults()).toEqual([]);
  });
});

describe('rules together', () => {
  const decide = async (lines: readonly string[], commands: readonly string[][] | undefined, line = 'x') => {
    await writeFile(at('hand.rules'), lines.join('\n'));
    return (await said(createPrefixRules(at('hand.rules')), commands, line)).decision;
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

describe('what is only seen in a line', () => {
  const rules = async (text: string, seen: readonly (string | undefined)[]) => {
    await writeFile(at('hand.rules'), text);
    return createPrefixRules(at('hand.rules')).decide({
      simple: undefined,
      all: [seen],
      isWhole: true,
      shell: shell('x'),
    });
  };

  test('is forbidden and asked about, never allowed', async () => {
    const rule = (decision: string) =>
      `prefix_rule(pattern=["git", "push"], decision="${decision}", justification="why")`;
    expect(await rules(rule('forbidden'), ['git', 'push'])).toMatchObject({
      ...{ decision: 'forbidden', justification: 'why' },
    });
    expect(await rules(rule('prompt'), ['git', 'push', undefined])).toMatchObject({ decision: 'prompt' });
    expect(await rules(rule('forbidden'), ['git', undefined])).toMatchObject({ decision: undefined });
    expect(await rules(rule('allow'), ['git', 'push'])).toMatchObject({ decision: undefined });
  });

  test('is known by the name of its program, in whatever folder', async () => {
    const text = 'prefix_rule(pattern=["rm"], decision="forbidden")';
    expect(await rules(text, ['/bin/rm', 'x'])).toMatchObject({ decision: 'forbidden' });
    expect(await rules(text.replace('rm', '/bin/rm'), ['/bin/rm', 'x'])).toMatchObject({ decision: 'forbidden' });
    expect(await rules(text.replace('rm', '/bin/rm'), ['/usr/rm', 'x'])).toMatchObject({ decision: undefined });
    expect(await allows(createPrefixRules(at('hand.rules')), ['/bin/rm'])).toBe(false);
  });
});

test('a line that was not looked through as a whole is what the strictest rule says', async () => {
  const rule = (name: string, decision: string) => `prefix_rule(pattern=["${name}"], decision="${decision}")\n`;
  const decide = async (text: string) => {
    await writeFile(at('hand.rules'), text);
    const line = { simple: undefined, all: [['ls']], isWhole: false, shell: shell('x') };
    return (await createPrefixRules(at('hand.rules')).decide(line)).decision;
  };
  expect(await decide(rule('rm', 'forbidden') + rule('ls', 'prompt'))).toBe('forbidden');
  expect(await decide(rule('rm', 'prompt') + rule('ls', 'allow'))).toBe('prompt');
  expect(await decide(rule('mv', 'allow'))).toBeUndefined();
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

test('what is remembered does not join a line that has no end', async () => {
  await mkdir(join(folder, 'rules'));
  for (const text of [GIT_STATUS, `${GIT_STATUS}\n# a remark`, `${GIT_STATUS}\nprefix_rule(pattern=["mv"`]) {
    await writeFile(file, text);
    const rules = createPrefixRules(file);
    await rules.remember(['ls']);
    const lines = (await readFile(file, 'utf8')).split('\n');
    expect(lines.at(-2)).toBe('prefix_rule(pattern=["ls"], decision="allow")');
    expect((await readRulesFile(file)).rules).toHaveLength(2);
  }
});

test('a file that cannot be read allows nothing, and is told', async () => {
  const found: RulesFile[] = [];
  const rules = createPrefixRules(folder, (each) => found.push(each));
  expect(await said(rules, [['ls']])).toMatchObject({ decision: undefined, hasFaults: true });
  expect(found).toMatchObject([{ file: folder, faults: [{ message: expect.stringContaining('EISDIR') }] }]);
  await writeFile(at('latin.rules'), Buffer.from('prefix_rule(pattern=["\xe4"], decision="forbidden")', 'latin1'));
  expect(await createPrefixRules(at('latin.rules')).faults()).toEqual([expect.stringContaining('not UTF-8')]);
});
