// What is said of arguments that are missing: the first one, whatever flags stand beside it.

import { expect, test } from 'vitest';
import { treeOf } from '../../../src/cli/command-tree.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { misread } from '../../../src/cli/misread.ts';

const NOT_ENOUGH = 'Not enough non-option arguments: got 0, need at least 1';

test.each([
  [['config', 'set'], 'KEY is missing'],
  [['config', 'set', '--data-dir', '/tmp/x'], 'KEY is missing'],
  [['config', 'set', '--data-dir=/tmp/x', 'model'], 'VALUE is missing'],
  [['config', 'set', 'model', '--data-dir', '/tmp/x'], 'VALUE is missing'],
  [['attach', '--json'], 'THREAD is missing'],
])('%j: %s', (argv, said) => {
  expect(misread(treeOf(COMMANDS), NOT_ENOUGH, argv)).toBe(said);
});
