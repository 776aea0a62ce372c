// All that a shell line may start as far as its text shows it, for rules that are to hold wherever a command stands.

import type { Node } from 'web-tree-sitter';
import { type SeenWords, startedBy } from './starters.ts';

/** Hands the tree of a line to `read`, and frees it after that. */
export type WithTree = <T>(line: string, read: (root: Node) => T) => T;

const LONGEST_LINE = 65_536;
/** How many lines of shells may lie in each other. */
const DEEPEST = 4;
/** So that no line, whatever starts what in it, takes long. */
const MOST_STARTED = 500;

/**
 * The words of every command anywhere in the line: in groups, loops, substitutions and functions, behind assignments, started by
 * `sudo`, `env` and the like, in the line of a shell with `-c`. Rather one too many than one too few.
 */
export function everyCommand(line: string, withTree: WithTree): readonly SeenWords[] {
  const found: SeenWords[] = [];
  let started = 0;
  const add = (words: SeenWords, depth: number): void => {
    // Grows while it is gone through.
    const starts = new Set([0]);
    for (const start of starts) {
      if (start > 0) started += 1;
      if (start > 0 && started > MOST_STARTED) return;
      const argv = words.slice(start);
      found.push(argv);
      const { commands, lines } = startedBy(argv);
      for (const each of commands) starts.add(start + each);
      if (depth < DEEPEST) for (const each of lines) addLine(each, depth + 1);
    }
  };
  const addLine = (text: string, depth: number): void => {
    for (const words of commandsOf(text, withTree)) add(words, depth);
  };
  addLine(line, 0);
  return found;
}

function commandsOf(line: string, withTree: WithTree): readonly SeenWords[] {
  if (line.length > LONGEST_LINE) return crudely(line);
  const commands = withTree(line, (root) => {
    const nodes = root.descendantsOfType(['command', 'declaration_command', 'unset_command']);
    const read = nodes.flatMap((node) => (node ? [wordsOf(node)] : []));
    return root.hasError ? [...read, ...crudely(line)] : read;
  });
  // The grammar ends a word at a continued line, the shell goes on with it; in a remark there are no continued lines.
  return line.includes('\\\n') ? [...commands, ...commandsOf(line.replaceAll('\\\n', ''), withTree)] : commands;
}

function wordsOf(command: Node): SeenWords {
  const own = command.children.filter(
    (part) => !/_redirect$/.test(part.type) && (part.type !== 'variable_assignment' || command.type !== 'command'),
  );
  const words = own.map((part) => wordOf(part.type === 'command_name' ? part.firstChild : part));
  return [...words, ...behindRedirections(command)];
}

/** The grammar takes the words behind `> file` for further files. */
function behindRedirections({ parent }: Node): SeenWords {
  if (parent?.type === 'pipeline' || parent?.type === 'list') return behindRedirections(parent);
  if (parent?.type !== 'redirected_statement') return [];
  const redirections = parent.children.filter(({ type }) => type === 'file_redirect');
  return redirections.flatMap((each) => each.childrenForFieldName('destination').slice(1).map(wordOf));
}

function wordOf(node: Node | null): string | undefined {
  switch (node?.type) {
    case 'raw_string':
      return node.text.slice(1, -1);
    case 'ansi_c_string':
      return node.text.includes('\\') ? undefined : node.text.slice(2, -1);
    case 'string':
      if (node.namedChildren.some((part) => part?.type !== 'string_content')) return undefined;
      return node.text.slice(1, -1).replaceAll(/\\([$`"\\])|\\\n/g, '$1');
    case 'concatenation': {
      const parts = node.children.map(wordOf);
      return parts.includes(undefined) ? undefined : parts.join('');
    }
    default:
      if (node === null || node === undefined || node.namedChildCount > 0) return undefined;
      return node.text.replaceAll(/\\\n/g, '').replaceAll(/\\(.)/g, '$1');
  }
}

/** They stand before a command. */
const KEYWORD = /^(?:!|\{|if|then|elif|else|while|until|do|time|[A-Za-z_]\w*=.*)$/;

/** For what the grammar cannot read: everything between blanks is a word, and a command begins wherever one could. */
function crudely(line: string): readonly SeenWords[] {
  return line.split(/[;&|()`\n]+/).flatMap((part) => {
    const words = part
      .replaceAll(/["'\\]/g, '')
      .split(/\s+/)
      .filter(Boolean);
    const start = words.findIndex((word) => !KEYWORD.test(word));
    return start < 0 ? [] : [words.slice(start)];
  });
}
