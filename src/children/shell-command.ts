// From a line to what is started for it, and to the rule that would let the same be started without asking again.

import { existsSync } from 'node:fs';
import type { ShellParser } from './shell-line.ts';

const BASH = '/bin/bash';

/** Another shell than the usual one: a name or path that `isKnownShell` knows. */
export interface ShellChoice {
  readonly program?: string;
  readonly isLogin?: boolean;
}

/** Shells that read a line as the parser does; in folders that belong to the system, so that a name cannot mean something else. */
const KNOWN_SHELL = /^(?:\/(?:usr\/(?:local\/)?)?bin\/)?(?:ba|z|da|k)?sh$/;

export const isKnownShell = (program: string): boolean => KNOWN_SHELL.test(program);

/** Starts a line in a login shell: bash, else the user's own shell (`fallback`, the value of SHELL), else sh. */
export function shellCommand(
  line: string,
  fallback?: string,
  { program, isLogin = true }: ShellChoice = {},
): readonly [string, string, string] {
  const usual = existsSync(BASH) ? BASH : (fallback ?? '/bin/sh');
  return [program ? located(program) : usual, isLogin ? '-lc' : '-c', line];
}

/** A bare name is not looked for in folders of others. */
const located = (program: string): string =>
  program.includes('/') ? program : (FOLDERS.map((folder) => `${folder}/${program}`).find(existsSync) ?? program);
const FOLDERS = ['/bin', '/usr/bin', '/usr/local/bin'];

/** What a rule would have to allow for this line: the words of its one simple command, or the shell with exactly this line. */
export function proposedAmendment(shell: ShellParser, line: string): readonly string[] {
  const commands = shell.simpleCommands(line);
  return commands?.length === 1 && commands[0] ? commands[0].argv : [BASH, '-lc', line];
}
