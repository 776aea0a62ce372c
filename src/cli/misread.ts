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
  if (/^no command was given/.test(text) && /^--?[^-]/.test(group))
    return `unknown flag \`${group.replace(/=.*$/s, '')}\``;
  const isUnknown = /^(Unknown (command|argument)|Did you mean)/.test(text);
  if (isUnknown && known === undefined && isWord(group)) return `unknown command \`${group}\`${hint}`;
  if (isUnknown && known !== undefined && known.length > 0 && isWord(command) && !known.includes(command))
    return `unknown command \`${group} ${command}\`${hint}`;
  const extra = /^Unknown arguments?: (.*)$/.exec(text)?.[1];
  if (extra !== undefined) return unknownOf(extra.split(', '), argv);
  if (/^Not enough non-option arguments/.test(text)) return missing(tree, argv);
  const advice = /^Missing required argument: \S+; (.*)$/.exec(text)?.[1];
  if (advice !== undefined) return advice;
  const [, name, given, choices] = /^Invalid values: Argument: (\S+), Given: (".*"), Choices: (.*)$/.exec(text) ?? [];
  if (choices !== undefined) return `unknown ${name} \`${given?.slice(1, -1)}\`; choose ${listOf(choices)}`;
  const flag = /^Not enough arguments following: (\S+)/.exec(text)?.[1];
  return flag === undefined ? text : `\`--${flag}\` needs a value`;
}

/** Flags before words: what follows a flag that is not known is taken for its value, or for a word too many. */
function unknownOf(extra: readonly string[], argv: readonly string[]): string {
  const typed = argv.map((each) => each.replace(/=.*$/s, ''));
  const flag = extra.map((name) => typed.find((each) => /^--?[^-]/.test(each) && each.replace(/^-+/, '') === name));
  const unknown = flag.find((each) => each !== undefined);
  if (unknown !== undefined) return `unknown flag \`${unknown}\``;
  if (argv[0] === 'exec') return 'the prompt is one argument: put it in quotation marks';
  return `unknown argument \`${extra[0]}\``;
}

/** By what the command of these arguments is called with. */
function missing(tree: CommandNode, argv: readonly string[]): string {
  let command = tree;
  let depth = 0;
  for (const word of argv) {
    const inner = command.commands.find(({ name }) => name === word);
    if (inner === undefined) break;
    command = inner;
    depth += 1;
  }
  const takingValue = new Set(command.options.flatMap(({ names, takesValue }) => (takesValue ? names : [])));
  const typed = argv.slice(depth);
  const given = typed.filter((word, at) => !word.startsWith('-') && !takingValue.has(typed[at - 1] ?? '')).length;
  const next = command.positionals[given] ?? command.positionals.at(-1);
  if (next === undefined) return 'an argument is missing';
  const { name, values } = next;
  return `${name.toUpperCase()} is missing${typeof values === 'object' ? `; choose ${orOf(values)}` : ''}`;
}

const orOf = (words: readonly string[]): string => words.join(', ').replace(/, ([^,]+)$/, ' or $1');

/** `"a", "b", "c"` as `a, b or c`. */
const listOf = (choices: string): string => orOf(choices.replaceAll('"', '').split(', '));
