// Reads the text of a patch, line by line, into the changes it asks for.

import { type ChunkLine, type FileChange, type PatchChunk, PatchProblem } from './change.ts';

/** Characters of a patch. */
export const MAX_PATCH = 4 * 1024 * 1024;

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const END_OF_FILE = '*** End of File';
/** One way only to match: with a choice of where the path begins, blanks without end would be tried out one by one. */
const HEADER = /^\*\*\* (Add File|Delete File|Update File|Move to):(.*)$/s;
/** Models that are used to shells wrap the patch as they would there. */
const HEREDOC = /^<<-?\s*(['"]?)(\w+)\1$/;
const KINDS = { ' ': 'keep', '-': 'remove', '+': 'add' } as const;

/** The changes in the order of the patch, at least one. Throws a PatchProblem that names the line which is wrong. */
export function readPatch(text: string): readonly FileChange[] {
  if (text.length > MAX_PATCH) throw new PatchProblem(`the patch is longer than ${MAX_PATCH} characters`);
  const lines = new Lines(unwrapped(text.trim().split(/\r?\n/)));
  if (lines.take()?.trim() !== BEGIN) throw new PatchProblem(`the first line of the patch must be "${BEGIN}"`);
  if (lines.takeLast()?.trim() !== END) throw new PatchProblem(`the last line of the patch must be "${END}"`);
  const changes: FileChange[] = [];
  for (let line = lines.take(); line !== undefined; line = lines.take()) {
    if (line.trim() !== '') changes.push(readChange(line, lines));
  }
  if (changes.length === 0) throw new PatchProblem('the patch changes no file');
  return changes;
}

function unwrapped(lines: readonly string[]): readonly string[] {
  const word = HEREDOC.exec(lines[0]?.trim() ?? '')?.[2];
  return word !== undefined && lines.at(-1)?.trim() === word ? lines.slice(1, -1) : lines;
}

/** Lines that are taken one after the other. */
class Lines {
  readonly #lines: readonly string[];
  #at = 0;
  #end: number;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
    this.#end = lines.length;
  }

  peek(): string | undefined {
    return this.#at < this.#end ? this.#lines[this.#at] : undefined;
  }

  take(): string | undefined {
    const line = this.peek();
    if (line !== undefined) this.#at += 1;
    return line;
  }

  takeLast(): string | undefined {
    if (this.#at >= this.#end) return undefined;
    this.#end -= 1;
    return this.#lines[this.#end];
  }

  /** About the line that was taken last. */
  problem(text: string): PatchProblem {
    return new PatchProblem(`line ${this.#at} of the patch: ${text}`);
  }
}

function readChange(header: string, lines: Lines): FileChange {
  const [, verb, path] = HEADER.exec(header.trim()) ?? [];
  if (verb === undefined || verb === 'Move to')
    throw lines.problem(
      `expected "*** Add File: PATH", "*** Delete File: PATH" or "*** Update File: PATH", and found ${quoted(header)}`,
    );
  const name = checkedPath(path, lines);
  if (verb === 'Delete File') return { type: 'delete', path: name };
  if (verb === 'Update File') return readUpdate(name, lines);
  let content = '';
  while (lines.peek()?.startsWith('+')) content += `${lines.take()!.slice(1)}\n`;
  return { type: 'add', path: name, content };
}

function readUpdate(path: string, lines: Lines): FileChange {
  let moveTo: string | null = null;
  const [, verb, target] = HEADER.exec(lines.peek()?.trimEnd() ?? '') ?? [];
  if (verb === 'Move to') {
    lines.take();
    moveTo = checkedPath(target, lines);
  }
  const chunks: PatchChunk[] = [];
  for (let line = lines.peek(); line !== undefined && !isHeader(line); line = lines.peek()) {
    if (line === '' && chunks.length > 0) lines.take();
    else chunks.push(readChunk(chunks.length === 0, lines));
  }
  if (chunks.length === 0 && moveTo === null) throw lines.problem(`nothing says how to change ${path}`);
  return { type: 'update', path, moveTo, chunks };
}

const isHeader = (line: string): boolean => line.startsWith('***');

function readChunk(isFirst: boolean, lines: Lines): PatchChunk {
  const anchors: string[] = [];
  let isMarked = false;
  for (let line = lines.peek(); line?.startsWith('@@'); line = lines.peek()) {
    lines.take();
    isMarked = true;
    const anchor = line.slice(2).replace(/^ /, '');
    if (anchor.trim() !== '') anchors.push(anchor);
  }
  if (!isMarked && !isFirst) {
    const found = lines.take() ?? '';
    throw lines.problem(`expected "@@" before the next place of the file, and found ${quoted(found)}`);
  }
  const body: ChunkLine[] = [];
  let isAtEnd = false;
  for (let line = lines.peek(); line !== undefined && !line.startsWith('@@'); line = lines.peek()) {
    if (line.trimEnd() === END_OF_FILE) {
      lines.take();
      isAtEnd = true;
      break;
    }
    if (isHeader(line)) break;
    lines.take();
    body.push(readLine(line, lines));
  }
  if (body.length === 0) throw lines.problem('nothing says what to change at this place');
  return { anchors, lines: body, isAtEnd };
}

function readLine(line: string, lines: Lines): ChunkLine {
  // Editors and models drop the blank that an empty line should begin with.
  if (line === '') return { kind: 'keep', text: '' };
  const kind = KINDS[line[0] as keyof typeof KINDS];
  if (kind === undefined)
    throw lines.problem(
      `a line of a change begins with a blank to stay, "-" to go or "+" to come, and this is ${quoted(line)}`,
    );
  return { kind, text: line.slice(1) };
}

function checkedPath(path: string | undefined, lines: Lines): string {
  const name = path?.trim() ?? '';
  if (name === '') throw lines.problem('the path of the file is missing');
  if (name.includes('\0')) throw lines.problem('the path of the file holds a NUL');
  return name;
}

const quoted = (line: string): string => JSON.stringify(line.length > 200 ? `${line.slice(0, 200)}…` : line);
