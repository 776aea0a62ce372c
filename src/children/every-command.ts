// All that a shell line may start as far as its text shows it, for rules that are to hold wherever a command stands.

import type { Node } from 'web-tree-sitter';
import { backquoted, crudely, wordsOf } from './seen-words.ts';
import { type SeenWords, startedBy } from './starters.ts';

/** Hands the tree of a line to `read`, and frees it after that; undefined where the line cannot be read by then (`performance.now()`). */
export type WithTree = <T>(line: string, read: (root: Node) => T, until: number) => T | undefined;

export interface FoundCommands {
  readonly commands: readonly SeenWords[];
  /** False where there may be more: the line is too long, starts too much, or feeds a shell with what is not looked at. */
  readonly isWhole: boolean;
  /** Lines that were parsed. */
  readonly parsed: number;
}

const LONGEST_LINE = 65_536;
/** How many lines of shells may lie in each other. */
const DEEPEST = 4;
/** For all that is looked at for one line, so that none, whatever starts what in it, takes long. */
const MOST = { commands: 2_000, words: 20_000, lines: 50, characters: 3 * LONGEST_LINE, milliseconds: 40 };

/** Something that hands text on to a program: a pipe, a here-document or a here-string, a process substitution. */
const FEEDS = /(?<!\|)\|(?!\|)|<<|<\(/;

/**
 * The words of every command anywhere in the line: in groups, loops, substitutions and functions, behind assignments, started by
 * `sudo`, `env` and the like, in the line of a shell with `-c`. Rather one too many than one too few.
 */
export function everyCommand(line: string, withTree: WithTree): FoundCommands {
  const search = new Search(withTree);
  search.addLine(line, 0);
  const { commands, parsed, isWhole } = search;
  return { commands, parsed, isWhole };
}

class Search {
  readonly commands: SeenWords[] = [];
  readonly #withTree: WithTree;
  readonly #until = performance.now() + MOST.milliseconds;
  /** By text, the least depth at which it was looked through. */
  readonly #seen = new Map<string, number>();
  #words = 0;
  #characters = 0;
  parsed = 0;
  #isSpent = false;
  #feeds = false;
  #isFedByInput = false;

  constructor(withTree: WithTree) {
    this.#withTree = withTree;
  }

  get isWhole(): boolean {
    return !this.#isSpent && !(this.#feeds && this.#isFedByInput);
  }

  addLine(text: string, depth: number): void {
    this.#addText(text, depth);
    // The grammar ends a word at a continued line, the shell goes on with it; in a remark there are no continued lines.
    if (text.includes('\\\n')) this.#addText(text.replaceAll('\\\n', ''), depth);
  }

  #addText(text: string, depth: number): void {
    if (this.#isSpent || (this.#seen.get(text) ?? Number.POSITIVE_INFINITY) <= depth) return;
    this.#seen.set(text, depth);
    this.#feeds ||= FEEDS.test(text);
    this.#characters += text.length;
    if (
      depth > DEEPEST ||
      text.length > LONGEST_LINE ||
      this.#characters > MOST.characters ||
      this.parsed === MOST.lines
    ) {
      this.#stop();
      return;
    }
    this.parsed += 1;
    const isRead = this.#withTree(text, (root) => this.#addTree(root, text, depth), this.#until);
    if (!isRead) this.#stop();
  }

  /** True: there was a tree. */
  #addTree(root: Node, text: string, depth: number): true {
    const words: SeenWords[] = [];
    for (const node of root.descendantsOfType(['command', 'declaration_command', 'unset_command'])) {
      if (this.#isSpent || words.length > MOST.commands) break;
      words.push(wordsOf(node));
      // A few commands are read whatever else keeps the machine from it.
      if (words.length > 100 && performance.now() > this.#until) this.#stop();
    }
    if (root.hasError) words.push(...crudely(text));
    for (const each of words) this.#add(each, depth);
    if (text.includes('`')) for (const each of backquoted(root)) this.addLine(each, depth + 1);
    return true;
  }

  #add(words: SeenWords, depth: number): void {
    // Grows while it is gone through.
    const starts = new Set([0]);
    for (const start of starts) {
      const argv = words.slice(start);
      this.#words += argv.length;
      if (this.#isSpent || this.#words > MOST.words || this.commands.length >= MOST.commands) {
        this.#stop();
        return;
      }
      this.commands.push(argv);
      const { commands, lines, readsInput } = startedBy(argv);
      this.#isFedByInput ||= readsInput;
      for (const each of commands) starts.add(start + each);
      for (const each of lines) this.addLine(each, depth + 1);
    }
  }

  /** There may be more than was found. */
  #stop(): void {
    this.#isSpent = true;
  }
}
