// What a rules file may look like, and that whatever cannot be read is said with its place.

import { describe, expect, test } from 'vitest';
import { parseRules } from '../../../src/approvals/rules-file.ts';

const RM = { pattern: ['rm'], decision: 'forbidden' };

describe('a rule is read', () => {
  test.each<[string, string, object]>([
    ['in one line', 'prefix_rule(pattern=["rm"], decision="forbidden")', RM],
    ['in several lines', 'prefix_rule(\n    pattern = ["rm"],\n    decision = "forbidden",\n)\n', RM],
    ['with Windows line ends', 'prefix_rule(\r\n  pattern=["rm"],\r\n  decision="forbidden")\r\n', RM],
    ['with the decision first', 'prefix_rule(decision="forbidden", pattern=["rm"])', RM],
    ['in single quotes', "prefix_rule(pattern=['rm'], decision='forbidden')", RM],
    ['with commas at ends', 'prefix_rule(pattern=["rm",], decision="forbidden",)', RM],
    ['with remarks', '# a\nprefix_rule( # b\n  pattern=["rm"], # c "\n  decision="forbidden") # d', RM],
    ['indented', '  \t prefix_rule (pattern=["rm"], decision="forbidden")', RM],
    [
      'with alternatives',
      'prefix_rule(pattern=[["rm", "unlink"], "-f"], decision="prompt")',
      { pattern: [['rm', 'unlink'], '-f'], decision: 'prompt' },
    ],
    [
      'with a reason',
      'prefix_rule(pattern=["rm"], decision="forbidden", justification="use git rm")',
      { ...RM, justification: 'use git rm' },
    ],
    [
      'with examples',
      `prefix_rule(pattern=["rm"], decision="forbidden", match=["rm 'a b'", ["rm"]], not_match=["ls rm"])`,
      RM,
    ],
    [
      'with escapes',
      String.raw`prefix_rule(pattern=["a\"\\\n\t\u00e4\x41\U0001F600", 'b\''], decision="allow")`,
      { pattern: ['a"\\\n\t\u00e4A\u{1f600}', "b'"], decision: 'allow' },
    ],
    [
      'with signs of the grammar in quotes',
      'prefix_rule(pattern=["#", ")]", "a, b"], decision="allow")',
      { pattern: ['#', ')]', 'a, b'], decision: 'allow' },
    ],
  ])('%s', (_what, text, rule) => {
    expect(parseRules(text)).toEqual({ rules: [rule], faults: [] });
  });

  test('without any there is nothing wrong', () => {
    for (const text of ['', '\n\n', '# only a remark', '  # prefix_rule(\n'])
      expect(parseRules(text)).toEqual({ rules: [], faults: [] });
  });
});

describe('what cannot be read is said with its place', () => {
  test.each<[string, string, number, number, RegExp]>([
    ['a misspelt decision', 'prefix_rule(pattern=["rm"], decision="forbiden")', 1, 38, /unknown decision "forbiden"/],
    ['a missing bracket', 'prefix_rule(pattern=["mv", decision="forbidden")', 1, 28, /expected a text.*or `]`/],
    ['a missing end', 'prefix_rule(pattern=["mv"], decision="allow"', 1, 45, /found the end of the file/],
    ['a missing quote', '\nprefix_rule(pattern=["mv], decision="allow")', 2, 38, /found "a"/],
    ['a text over lines', 'prefix_rule(pattern=["mv\n"], decision="allow")', 1, 22, /no closing quote/],
    ['a missing comma', 'prefix_rule(pattern=["a" "b"], decision="allow")', 1, 26, /expected `,` or `]`/],
    ['no pattern', '  prefix_rule(decision="allow")', 1, 3, /no `pattern`/],
    ['no decision', 'prefix_rule(pattern=["rm"])', 1, 1, /no `decision`/],
    ['an empty pattern', 'prefix_rule(pattern=[], decision="allow")', 1, 21, /is empty/],
    ['no alternatives', 'prefix_rule(pattern=["a", []], decision="allow")', 1, 27, /is empty/],
    ['a pattern that is a text', 'prefix_rule(pattern="rm", decision="allow")', 1, 21, /`pattern` is a list/],
    ['a list too deep', 'prefix_rule(pattern=[[["a"]]], decision="allow")', 1, 23, /is a text in quotes/],
    ['a number', 'prefix_rule(pattern=["ls", 1], decision="allow")', 1, 28, /found "1"/],
    ['an unknown argument', 'prefix_rule(pattern=["a"], decision="allow", if="b")', 1, 49, /no argument `if`/],
    ['an argument twice', 'prefix_rule(pattern=["a"], pattern=["b"], decision="allow")', 1, 28, /given twice/],
    ['an unknown escape', String.raw`prefix_rule(pattern=["\q"], decision="allow")`, 1, 23, /no such escape/],
    ['another call', 'host_executable(name="git")', 1, 1, /expected `prefix_rule/],
    ['something behind', 'prefix_rule(pattern=["ls"], decision="allow") or true', 1, 47, /end of the line/],
    [
      'an example that does not fit',
      'prefix_rule(pattern=["rm"], decision="prompt", match=["ls"])',
      1,
      55,
      /does not fit/,
    ],
    ['one that must not', 'prefix_rule(pattern=["rm"], decision="prompt", not_match=["rm a"])', 1, 59, /fits this/],
    ['nonsense', 'allow everything', 1, 1, /expected `prefix_rule/],
  ])('%s', (_what, text, line, column, message) => {
    const good = 'prefix_rule(pattern=["rm"], decision="forbidden")';
    expect(parseRules(text)).toEqual({
      rules: [],
      faults: [{ line, column, message: expect.stringMatching(message) }],
    });
    // Neither what stands in front nor what stands behind is lost.
    if (!/end of the file/.test(`${message}`))
      expect(parseRules(`${good}\n${text}\n${good}\n`)).toMatchObject({
        rules: [RM, RM],
        faults: [{ line: line + 1, column }],
      });
  });

  test('a rule that was not ended does not swallow the next one', () => {
    const { rules, faults } = parseRules(
      'prefix_rule(pattern=["mv", decision="allow"\n\nprefix_rule(pattern=["rm"], decision="forbidden")\nnonsense\nmore',
    );
    expect(rules).toEqual([RM]);
    expect(faults.map(({ line, column }) => [line, column])).toEqual([
      [1, 28],
      [4, 1],
    ]);
  });

  test('whatever is nested or cut off, it comes to an end', () => {
    const text = 'prefix_rule(pattern=["git", [\'a\', "b\\n"]], decision="prompt", justification="x") # y\n';
    for (let end = 1; end < text.length; end += 1) {
      const { rules, faults } = parseRules(text.slice(0, end));
      expect(rules.length + faults.length).toBe(1);
    }
    expect(parseRules(`prefix_rule(pattern=${'['.repeat(100_000)}`).faults).toHaveLength(1);
  });
});
