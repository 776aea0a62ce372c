// Reading a shell line: which simple commands it is made of, or that it is more than that.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Node } from 'web-tree-sitter';
import { once } from '../base/lazy.ts';
import { everyCommand, type FoundCommands, type WithTree } from './every-command.ts';

/** What stands between a command and the one before it; `start` for the first. */
export type Joint = 'start' | '|' | '&&' | '||' | ';' | '\n';

export interface SimpleCommand {
  /** The words as the program gets them, quotes removed. */
  readonly argv: readonly [string, ...string[]];
  readonly joint: Joint;
}

export interface ShellParser {
  /**
   * The simple commands of a line in order, or undefined when the line holds anything whose effect its words do not tell:
   * expansions, globs, redirections, assignments, background, compound commands, comments, or an error.
   */
  simpleCommands(line: string): readonly SimpleCommand[] | undefined;
  /** Every command that can be seen anywhere in a line, whatever else it holds; only for what is to be stricter by it. */
  everyCommand(line: string): FoundCommands;
}

// The bundle is CommonJS and has no module URL. Both packages stay files of their own there: they load WebAssembly beside them.
const requireFrom = () => createRequire(typeof __filename === 'string' ? __filename : import.meta.url);

/** Milliseconds. */
const LONGEST_READING = 40;
/** Characters. */
const AT_A_TIME = 512;
/** Where more of them do not fit together, the grammar takes seconds without asking whether it should stop. */
const MOST_BRACKETS = 500;
const BRACKET = /[()]|\$\[/;
/** How many lists may lie in each other: one for each joint. */
const DEEPEST = 1_000;

/** Loads the grammar at the first call (some 30 ms); every call gives the same parser. */
export const loadShellParser: () => Promise<ShellParser> = once(async () => {
  const require = requireFrom();
  const { Parser, Language } = require('web-tree-sitter') as typeof import('web-tree-sitter');
  await Parser.init({ wasmBinary: await readFile(require.resolve('web-tree-sitter/web-tree-sitter.wasm')) });
  const grammar = join(dirname(require.resolve('tree-sitter-bash/package.json')), 'tree-sitter-bash.wasm');
  const parser = new Parser();
  parser.setLanguage(await Language.load(await readFile(grammar)));
  const withTree: WithTree = (line, use, until) => {
    if (line.split(BRACKET).length > MOST_BRACKETS) return undefined;
    let looks = 0;
    let isCut = false;
    let isParsed = false;
    // Some short lines take minutes, and more memory than there is; a common one is read before it comes to these looks.
    const isLate = () => {
      isCut ||= ++looks > 20 && performance.now() > until;
      return isCut;
    };
    // Between two calls of the other it may read a long text hundreds of times: then it is told that there is no more of it. The words
    // of the tree are read from here as well.
    const part = (from: number) => (!isParsed && isLate() ? undefined : line.slice(from, from + AT_A_TIME));
    const tree = parser.parse(part, null, { progressCallback: isLate });
    isParsed = true;
    if (!tree || isCut) {
      tree?.delete();
      parser.reset();
      return undefined;
    }
    try {
      return use(tree.rootNode);
    } finally {
      tree.delete();
    }
  };
  return {
    simpleCommands: (line: string) =>
      isOrdinaryText(line)
        ? withTree(line, (root) => read(root, line), performance.now() + LONGEST_READING)
        : undefined,
    everyCommand: (line: string) => everyCommand(line, withTree),
  };
});

/** The grammar takes characters for blanks that the shell takes for letters: such lines are never simple. */
function isOrdinaryText(line: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return line.length <= 65_536 && !/[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f\ufeff]/.test(line);
}

function read(root: Node, line: string): readonly SimpleCommand[] | undefined {
  if (root.hasError) return undefined;
  const reader: Reader = { commands: [], joint: 'start', backslashes: 0 };
  if (!readPart(root, reader) || reader.commands.length === 0) return undefined;
  // Outside quotes the grammar skips some backslashes without a trace.
  return reader.backslashes === backslashes(line) ? reader.commands : undefined;
}

interface Reader {
  readonly commands: SimpleCommand[];
  joint: Joint;
  /** How many were seen inside quotes. */
  backslashes: number;
}

const GROUPS: ReadonlySet<string> = new Set(['program', 'list', 'pipeline']);
const JOINTS: ReadonlySet<string> = new Set(['|', '&&', '||', ';', '\n']);

/** False as soon as something is met that is not known to be simple. */
function readPart(node: Node, reader: Reader, depth = 0): boolean {
  if (depth > DEEPEST) return false;
  if (GROUPS.has(node.type)) return node.children.every((part) => readPart(part, reader, depth + 1));
  if (node.type === 'command') return readCommand(node, reader);
  if (node.isNamed || !JOINTS.has(node.type)) return false;
  reader.joint = node.type as Joint;
  return true;
}

function readCommand(node: Node, reader: Reader): boolean {
  const words: string[] = [];
  for (const part of node.children) {
    const word = readWord(part.type === 'command_name' ? part.firstChild : part, reader);
    if (word === undefined) return false;
    words.push(word);
  }
  const [program, ...rest] = words;
  if (!program) return false;
  // Two commands with nothing but a line end between them have no joint of their own in the tree.
  const joint = reader.joint === 'start' && reader.commands.length > 0 ? '\n' : reader.joint;
  reader.commands.push({ argv: [program, ...rest], joint });
  reader.joint = 'start';
  return true;
}

function readWord(node: Node | null, reader: Reader): string | undefined {
  switch (node?.type) {
    case 'word':
      return /[\\*?[\]{}$`]|^~/.test(node.text) ? undefined : node.text;
    case 'number':
      return node.childCount === 0 ? node.text : undefined;
    case 'raw_string':
      reader.backslashes += backslashes(node.text);
      return node.text.slice(1, -1);
    case 'string':
      if (node.namedChildren.some((part) => part?.type !== 'string_content')) return undefined;
      reader.backslashes += backslashes(node.text);
      return node.text.slice(1, -1).replaceAll(/\\([$`"\\])|\\\n/g, '$1');
    case 'concatenation': {
      const parts = node.children.map((part) => readWord(part, reader));
      return parts.includes(undefined) ? undefined : parts.join('');
    }
    default:
      return undefined;
  }
}

function backslashes(text: string): number {
  return text.split('\\').length - 1;
}
