// Pure: the chunks of an update applied to the text of a file.

import { type PatchChunk, PatchProblem } from './change.ts';
import { type Effort, LineSearch } from './search.ts';

interface Line {
  readonly text: string;
  /** `\n`, `\r\n`, or nothing at the end of the file. */
  readonly end: string;
}

/** More of one file would keep everybody else waiting too long. */
const MAX_LINES = 500_000;

/**
 * The new text; `effort` is what may be spent on searching, shared by all who are given the same. Lines that stay are kept as they are, also where they were matched leniently; new ones end as their neighbours do;
 * and the file ends with a line end if it did before. Throws a PatchProblem that names the file and what was not found.
 */
export function fitted(content: string, chunks: readonly PatchChunk[], path: string, effort: Effort): string {
  const old = linesOf(content);
  if (old.length > MAX_LINES)
    throw new PatchProblem(`${path} has more than ${MAX_LINES} lines; change it with a command`);
  const usual = old.find(({ end }) => end !== '')?.end ?? '\n';
  const search = new LineSearch(
    old.map(({ text }) => text),
    effort,
  );
  const result: Line[] = [];
  let taken = 0;
  for (const chunk of chunks) {
    const { start, lines } = placeOf(chunk, search, old.length, taken, path);
    for (; taken < start; taken++) result.push(old[taken]!);
    for (const { kind, text } of lines) {
      if (kind === 'add') result.push({ text, end: (old[taken] ?? old[taken - 1])?.end || usual });
      else {
        if (kind === 'keep') result.push(old[taken]!);
        taken += 1;
      }
    }
  }
  for (; taken < old.length; taken++) result.push(old[taken]!);
  const endsLine = old.length === 0 || old.at(-1)!.end !== '';
  return result
    .map(({ text, end }, index) => text + (index < result.length - 1 || endsLine ? end || usual : ''))
    .join('');
}

function linesOf(content: string): readonly Line[] {
  const lines: Line[] = [];
  for (let from = 0; from < content.length; ) {
    const at = content.indexOf('\n', from);
    const to = at < 0 ? content.length : at;
    const hasReturn = at > from && content[at - 1] === '\r';
    lines.push({ text: content.slice(from, hasReturn ? to - 1 : to), end: at < 0 ? '' : hasReturn ? '\r\n' : '\n' });
    from = to + 1;
  }
  return lines;
}

/** Where a chunk begins, and its lines as they were found. */
function placeOf(chunk: PatchChunk, search: LineSearch, length: number, from: number, path: string) {
  let start = from;
  for (const anchor of chunk.anchors) {
    const at = search.find([anchor], start, false);
    if (at === undefined) throw new PatchProblem(`${path} has no such line${behind(start)}:\n${anchor}`);
    start = at + 1;
  }
  const wanted = chunk.lines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
  if (wanted.length === 0) return { start: chunk.anchors.length > 0 ? start : length, lines: chunk.lines };
  const found = search.find(wanted, start, chunk.isAtEnd);
  if (found !== undefined) return { start: found, lines: chunk.lines };
  // An empty line at the end often only separates one change from the next.
  const last = chunk.lines.at(-1)!;
  if (last.kind === 'keep' && last.text === '' && wanted.length > 1) {
    const again = search.find(wanted.slice(0, -1), start, chunk.isAtEnd);
    if (again !== undefined) return { start: again, lines: chunk.lines.slice(0, -1) };
  }
  const where = chunk.isAtEnd ? ' at its end' : behind(start);
  throw new PatchProblem(`${path} does not hold these lines${where}:\n${wanted.join('\n')}`);
}

const behind = (line: number): string => (line === 0 ? '' : ` behind line ${line}`);
