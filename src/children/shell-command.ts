// From a line to what is started for it, and to the rule that would let the same be started without asking again.

import { existsSync } from 'node:fs';
import type { ShellParser } from './shell-line.ts';

const BASH = '/bin/bash';

/** Starts a line in a login shell: bash, else the user's own shell (`fallback`, the value of SHELL), else sh. */
export function shellCommand(line: string, fallback?: string): readonly [string, string, string] {
  return [existsSync(BASH) ? BASH : (fallback ?? '/bin/sh'), '-lc', line];
}

/** What a rule would have to allow for this line: the words of its one simple command, or the shell with exactly this line. */
export function proposedAmendment(shell: ShellParser, line: string): readonly string[] {
  const commands = shell.simpleCommands(line);
  return commands?.length === 1 && commands[0] ? commands[0].argv : [BASH, '-lc', line];
}
