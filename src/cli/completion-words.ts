// What can come next in a command line that is being typed: commands, flags, and what their values are.

import type { CommandNode, OptionNode, Values } from './command-tree.ts';

export interface Proposal {
  readonly word: string;
  readonly describe: string;
}

export interface Completion {
  readonly proposals: readonly Proposal[];
  /** What is to be found elsewhere: paths by the shell, variables here, ids by asking the server that the flags so far lead to. */
  readonly lookUp: Extract<Values, string> | undefined;
  /** The beginning of the last word that stays as it is: `--cd=` of `--cd=src`. */
  readonly kept: string;
  /** What flags were given so far, by name without dashes. */
  readonly given: Readonly<Record<string, string>>;
}

const HELP: OptionNode = {
  ...{ names: ['--help', '-h'], describe: 'Show help', takesValue: false, isRepeatable: false, values: undefined },
};
const VERSION: OptionNode = { ...HELP, names: ['--version'], describe: 'Show version number' };

/** `typed`: the words behind `heddle`, of which the last is being typed, perhaps empty. */
export function completionOf(tree: CommandNode, typed: readonly string[]): Completion {
  const words = glued(typed);
  const current = words.at(-1) ?? '';
  const place = walked(tree, words.slice(0, -1));
  const { given, waiting } = place;
  const nothing = { proposals: [], lookUp: undefined, kept: '', given };
  if (waiting) return { ...nothing, ...offered(waiting.values, current) };
  const inline = /^(--[^=]+)=(.*)$/s.exec(current);
  if (inline && !place.isOver) {
    const [, name = '', value = ''] = inline;
    return { ...nothing, ...offered(optionCalled(place.node, name)?.values, value), kept: `${name}=` };
  }
  if (current.startsWith('-') && !place.isOver) return { ...nothing, proposals: begun(flagsOf(place), current) };
  if (place.node.commands.length > 0 && place.count === 0) {
    const shown = place.node.commands.filter(({ describe }) => describe !== '');
    const commands = shown.map(({ name, describe }) => ({ word: name, describe }));
    if (commands.length > 0) return { ...nothing, proposals: begun(commands, current) };
  }
  return { ...nothing, ...offered(place.node.positionals[place.count]?.values, current) };
}

interface Place {
  node: CommandNode;
  /** Words of this command that are neither flags nor their values. */
  count: number;
  /** The flag whose value comes next. */
  waiting: OptionNode | undefined;
  /** Behind `--` nothing is a flag. */
  isOver: boolean;
  readonly seen: Set<OptionNode>;
  readonly given: Record<string, string>;
}

function walked(tree: CommandNode, words: readonly string[]): Place {
  const place: Place = { node: tree, count: 0, waiting: undefined, isOver: false, seen: new Set(), given: {} };
  for (const word of words) {
    if (place.waiting) {
      place.given[place.waiting.names[0]!.slice(2)] = word;
      place.waiting = undefined;
    } else if (!place.isOver && word === '--') place.isOver = true;
    else if (!place.isOver && /^-./.test(word)) takeFlag(place, word);
    else takeWord(place, word);
  }
  return place;
}

function takeFlag(place: Place, word: string): void {
  const [, name = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? /^(-\w)(.+)$/s.exec(word) ?? [];
  const option = optionCalled(place.node, name);
  if (!option) return;
  place.seen.add(option);
  if (!option.takesValue) return;
  if (value === undefined) place.waiting = option;
  else place.given[option.names[0]!.slice(2)] = value;
}

function takeWord(place: Place, word: string): void {
  const command = place.count === 0 ? place.node.commands.find(({ name }) => name === word) : undefined;
  if (command) Object.assign(place, { node: command, count: 0 });
  else place.count += 1;
}

const optionCalled = (node: CommandNode, name: string): OptionNode | undefined =>
  node.options.find(({ names }) => names.includes(name));

function flagsOf({ node, seen }: Place): readonly Proposal[] {
  const own = node.options.filter((option) => option.isRepeatable || !seen.has(option));
  const common = node.name === 'heddle' ? [HELP, VERSION] : [HELP];
  return [...own, ...common].map(({ names, describe }) => ({ word: names[0]!, describe }));
}

function offered(values: Values | undefined, current: string): Pick<Completion, 'proposals' | 'lookUp'> {
  if (typeof values === 'string') return { proposals: [], lookUp: values };
  const words = (values ?? []).map((word) => ({ word, describe: '' }));
  return { proposals: begun(words, current), lookUp: undefined };
}

export const begun = (proposals: readonly Proposal[], current: string): readonly Proposal[] =>
  proposals.filter(({ word }) => word.startsWith(current));

/** Bash takes words apart at `=` and `:`. */
function glued(words: readonly string[]): readonly string[] {
  const whole: string[] = [];
  let isOpen = false;
  for (const word of words) {
    const isBreak = /^[=:]+$/.test(word);
    if (whole.length > 0 && (isBreak || isOpen)) whole.push(`${whole.pop()}${word}`);
    else whole.push(word);
    isOpen = isBreak;
  }
  return whole;
}
