// What is shown for a command line: the recorded behaviour of the reference, and where ours tells more truth.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type CommandAction, commandActions } from '../../../src/children/command-actions.ts';
import { loadShellParser } from '../../../src/children/shell-line.ts';
import { displayCommand } from '../../../src/children/shell-quote.ts';

interface Recorded {
  readonly line: string;
  readonly shown: string;
  readonly actions: readonly CommandAction[];
}

const recorded = JSON.parse(
  readFileSync(new URL('fixtures/command-lines.json', import.meta.url), 'utf8'),
) as readonly Recorded[];

/** Lines that write, delete or start something, although the recorded actions say that they only look. */
const MORE_THAN_LOOKING = new Set(['find . -name x -delete', 'ls | xargs rm', 'cat a | tee b']);

describe('commandActions', async () => {
  const shell = await loadShellParser();

  it.each(recorded.filter(({ line }) => !MORE_THAN_LOOKING.has(line)))(
    'tells of $line what the reference tells',
    (each) => {
      expect(commandActions(shell, each.line, '/w/ws')).toEqual(each.actions);
    },
  );

  it.each([...MORE_THAN_LOOKING])('does not call %s a look', (line) => {
    expect(commandActions(shell, line, '/w/ws')).toEqual([{ type: 'unknown', command: line }]);
  });

  it('is one unknown with the whole line when one part cannot be told', () => {
    expect(commandActions(shell, 'cat README.md; exit 3', '/w')).toEqual([
      { type: 'unknown', command: 'cat README.md; exit 3' },
    ]);
  });
});

describe('displayCommand', () => {
  it.each(recorded)('writes $line as the reference does', ({ line, shown }) => {
    expect(displayCommand(['/bin/bash', '-lc', line])).toBe(shown);
  });
});
