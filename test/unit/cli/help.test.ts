// The help of every command: no word is glued to another, and lines fit the terminal.

import { expect, test } from 'vitest';
import { type CommandNode, treeOf } from '../../../src/cli/command-tree.ts';
import { COMMANDS, parsed } from '../../../src/cli/commands.ts';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { readable } from '../../../src/cli/help-text.ts';

const pathsOf = ({ commands }: CommandNode, before: readonly string[] = []): readonly (readonly string[])[] => [
  before,
  ...commands.flatMap((each) => pathsOf(each, [...before, each.name])),
];
const PATHS = pathsOf(treeOf(COMMANDS));

test('every command is among them', () => {
  expect(PATHS.length).toBeGreaterThan(35);
});

test.each([60, 72, 80, 90, 100])('at %i columns', async (width) => {
  for (const path of PATHS) {
    const help = await parsed([...path, '--help'], { code: EXIT.done }, width);
    expect(help, path.join(' ')).toContain(`heddle ${path.join(' ')}`.trim());
    for (const line of help.split('\n')) {
      expect(line, path.join(' ')).not.toMatch(/\S\[(string|boolean|array|required|default|choices)/);
      expect(line.length, `${path.join(' ')}: ${line}`).toBeLessThanOrEqual(width);
    }
  }
});

test('what stands behind a full line gets a line of its own, at the right', () => {
  expect(readable('  --one  text that is full[string]\n  --two  text   [boolean]   ', 34)).toBe(
    '  --one  text that is full\n                          [string]\n  --two  text   [boolean]',
  );
});
