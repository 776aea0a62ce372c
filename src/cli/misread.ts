// What to say of a command line that cannot be read, in place of the words of the library.

import type { CommandNode } from './command-tree.ts';

/** The commands within one; undefined: there is no such command. */
const commandsOf = (tree: CommandNode, group: string): readonly string[] | undefined =>
  tree.commands.find(({ name }) => name === group)?.commands.map(({ name }) => name);

/** The command whose help is worth reading. */
export function helpFor(tree: CommandNode, argv: readonly string[]): string {
  const [group = '', command = ''] = argv;
  const known = commandsOf(tree, group);
  if (known === undefined) return 'heddle --help';
  return `heddle ${known.includes(command) ? `${group} ${command}` : group} --help`;
}

/** `text` is what the library says. */
export function misread(tree: CommandNode, text: string, argv: readonly string[]): string {
  const [group = '', command = ''] = argv;
  const known = commandsOf(tree, group);
  const isWord = (word: string) => word !== '' && !word.startsWith('-');
  const meant = /^Did you mean (\S+)\?/.exec(text)?.[1];
  const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`;
  const isUnknown = /^(Unknown (command|argument)|Did you mean)/.test(text);
  if (isUnknown && known === undefined && isWord(group)) return `unknown command \`${group}\`${hint}`;
  if (isUnknown && known !== undefined && known.length > 0 && isWord(command) && !known.includes(command))
    return `unknown command \`${group} ${command}\`${hint}`;
  if (/^Unknown argument/.test(text) && group === 'exec' && isWord(text.split(': ')[1] ?? ''))
    return 'the prompt is one argument: put it in quotation marks';
  if (/^Not enough non-option arguments/.test(text)) return 'an argument is missing';
  const [, name, given, choices] = /^Invalid values: Argument: (\S+), Given: (".*"), Choices: (.*)$/.exec(text) ?? [];
  if (choices !== undefined) return `unknown ${name} \`${given?.slice(1, -1)}\`; choose ${listOf(choices)}`;
  const flag = /^Not enough arguments following: (\S+)/.exec(text)?.[1];
  return flag === undefined ? text : `\`--${flag}\` needs a value`;
}

/** `"a", "b", "c"` as `a, b or c`. */
const listOf = (choices: string): string => choices.replaceAll('"', '').replace(/, ([^,]+)$/, ' or $1');
