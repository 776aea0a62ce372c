// Commands that are known to change nothing and to start nothing: an allow-list, since any other list would be too short.

import type { ShellParser } from './shell-line.ts';

type Check = (operands: readonly string[]) => boolean;

const always: Check = () => true;
const without =
  (forbidden: RegExp): Check =>
  (operands) =>
    !operands.some((each) => forbidden.test(each));

/** Long options may be cut short, so the patterns take every beginning that could still mean the forbidden one. */
const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...[
    'cat',
    'cd',
    'cut',
    'echo',
    'expr',
    'false',
    'grep',
    'head',
    'id',
    'ls',
    'nl',
    'paste',
    'pwd',
    'rev',
    'seq',
    'stat',
  ].map((name) => [name, always] as const),
  ...['tac', 'tail', 'tr', 'true', 'uname', 'wc', 'which', 'whoami'].map((name) => [name, always] as const),
  // The second name is the file that it writes.
  ['uniq', (operands) => operands.filter((each) => !each.startsWith('-')).length <= 1],
  ['find', without(/^-(delete|exec|execdir|ok|okdir|fls|fprint0?|fprintf)$/)],
  ['rg', without(/^(--pre|--hostname-bin|--search-zip|-[a-zA-Z0-9]*z)/)],
  ['sed', ([flag, script, ...rest]) => flag === '-n' && /^\d+(,\d+)?p$/.test(script ?? '') && rest.every(isName)],
  ['git', isReadOnlyGit],
]);

function isName(operand: string): boolean {
  return !operand.startsWith('-');
}

/** Only forms in which git runs no program that a repository can name: no diffs, no pager, no file-system monitor. */
function isReadOnlyGit([verb, ...operands]: readonly string[]): boolean {
  if (verb === 'rev-parse')
    return operands.every((each) => /^(--show-toplevel|--abbrev-ref|--short|[A-Za-z0-9_/.-]+)$/.test(each));
  return verb === 'branch' && operands.length === 1 && operands[0] === '--show-current';
}

/** True when this program with these operands can only read. */
export function isReadOnlyCommand(argv: readonly [string, ...string[]]): boolean {
  const [program, ...operands] = argv;
  return CHECKS.get(program)?.(operands) ?? false;
}

/** True when the line is made of nothing but such commands; everything else means: ask. */
export function isKnownSafe(shell: ShellParser, line: string): boolean {
  return shell.simpleCommands(line)?.every(({ argv }) => isReadOnlyCommand(argv)) ?? false;
}
