// What a command line does, in the words shown to people: reads, listings, searches, or nothing that can be told.

import { posix } from 'node:path';
import { describe } from './command-table.ts';
import { isReadOnlyCommand } from './read-only-commands.ts';
import type { ShellParser, SimpleCommand } from './shell-line.ts';
import { displayCommand } from './shell-quote.ts';

export type CommandAction =
  | { readonly type: 'read'; readonly command: string; readonly name: string; readonly path: string }
  | { readonly type: 'listFiles'; readonly command: string; readonly path: string | null }
  | { readonly type: 'search'; readonly command: string; readonly query: string | null; readonly path: string | null }
  | { readonly type: 'unknown'; readonly command: string };

/**
 * The actions of a line that runs in `cwd`, one for each of its commands that matters to a reader; a single `unknown` with the
 * whole line when any of them cannot be told. `path` of a read is absolute, of the others the last telling part of what was typed.
 */
export function commandActions(shell: ShellParser, line: string, cwd: string): readonly CommandAction[] {
  const unknown: readonly CommandAction[] = [{ type: 'unknown', command: line }];
  const commands = shell.simpleCommands(line);
  if (!commands) return unknown;
  const actions: CommandAction[] = [];
  let folder = cwd;
  for (const [index, command] of commands.entries()) {
    const target = folderChange(command);
    if (target !== undefined && commands.length > 1) folder = posix.resolve(folder, target);
    else if (isLineRange(command) && foldInto(actions, command)) continue;
    else if (!isAside(command, index, commands)) {
      const action = actionOf(command, folder);
      if (!action) return unknown;
      actions.push(action);
    }
  }
  return actions.length > 0 ? actions : unknown;
}

function actionOf({ argv }: SimpleCommand, folder: string): CommandAction | undefined {
  const command = displayCommand(argv);
  const found = describe(argv);
  if (found?.type !== 'read') return found && { ...found, command };
  const path = posix.resolve(folder, found.file);
  return { type: 'read', command, name: posix.basename(path) || path, path };
}

function folderChange({ argv: [program, ...operands] }: SimpleCommand): string | undefined {
  if (program !== 'cd') return undefined;
  const rest = operands[0] === '--' ? operands.slice(1) : operands;
  return rest.length === 1 && rest[0] !== '-' ? rest[0] : undefined;
}

/** Commands that only shape, or announce, what the others print. */
const SHAPING: ReadonlySet<string> = new Set([
  'wc',
  'tr',
  'cut',
  'sort',
  'uniq',
  'column',
  'yes',
  'printf',
  'head',
  'tail',
  'nl',
]);

function isAside(command: SimpleCommand, index: number, all: readonly SimpleCommand[]): boolean {
  if (all.length === 1) return false;
  const { argv, joint } = command;
  const [program, ...operands] = argv;
  if (program === 'true') return true;
  if (program === 'echo') return index === 0;
  if (program === 'xargs') return joint === '|' && runsOnlyReaders(operands);
  if (program === 'awk') return joint === '|' && operands.length === 1 && describe(argv) === undefined;
  if (!SHAPING.has(program)) return false;
  if (program === 'sort') return !operands.some((each) => /^(-[a-zA-Z]*o|--out|--comp)/.test(each));
  return describe(argv) === undefined;
}

function runsOnlyReaders(operands: readonly string[]): boolean {
  const start = operands.findIndex((each) => !/^-[0rt]+$/.test(each));
  const [program, ...rest] = start < 0 ? ['echo'] : operands.slice(start);
  return program !== undefined && isReadOnlyCommand([program, ...rest]);
}

/** `sed -n 1,5p` without a file: which lines of what came before are shown. */
function isLineRange({ argv, joint }: SimpleCommand): boolean {
  return (
    joint === '|' && argv.length === 3 && argv[0] === 'sed' && argv[1] === '-n' && /^\d+(,\d+)?p$/.test(argv[2] ?? '')
  );
}

function foldInto(actions: CommandAction[], { argv }: SimpleCommand): boolean {
  const last = actions.at(-1);
  if (!last || last.type === 'unknown') return false;
  actions[actions.length - 1] = { ...last, command: `${last.command} | ${displayCommand(argv)}` };
  return true;
}
