// What a turn did before the server was started anew, worked out backwards from its last diff and the files as they are now.

import { isAbsolute, join } from 'node:path';
import { namesIn, plainName } from './diff-names.ts';
import type { Content } from './diff-text.ts';
import { objectId } from './diff-text.ts';
import type { Restored } from './turn-diff.ts';

interface Header {
  readonly from: string;
  readonly to: string;
  readonly isNew: boolean;
  readonly isDeleted: boolean;
  /** Of the file before, where it is told. */
  readonly mode: number | undefined;
  readonly id: string | undefined;
  /** Undefined: the section only names the file. */
  readonly hunks: string | undefined;
  readonly isMoved: boolean;
}

/**
 * `diff` is what `TurnDiff.text` gave for `cwd`; `read` gives a file as it is now. Of a file that something else has changed since, it is
 * known only that it was another one.
 */
export async function restoredFiles(
  diff: string,
  cwd: string,
  read: (path: string) => Promise<Content | null>,
): Promise<readonly Restored[]> {
  const place = (name: string) => (isAbsolute(name) ? name : join(cwd, name));
  const sections = diff.split(/(?<=^|\n)(?=diff --git )/).filter((section) => section.startsWith('diff --git '));
  const files = sections.map(async (section): Promise<Restored> => {
    const header = headerOf(section);
    const [path, origin] = [place(header.to), place(header.from)];
    const after = header.isDeleted ? null : await read(path).catch(() => null);
    return { path, origin: header.isMoved ? origin : path, before: beforeOf(header, after), after };
  });
  return Promise.all(files);
}

function beforeOf({ isNew, mode, id, hunks, isMoved }: Header, after: Content | null): Content | null {
  if (isNew) return null;
  const known = { id: id ?? 'unknown', mode: mode ?? after?.mode ?? 0o644 };
  // Nothing but the mode or the name is another one.
  if (id === undefined && hunks === undefined && after && (isMoved || mode !== undefined))
    return { ...after, ...{ mode: known.mode } };
  const text = hunks === undefined ? undefined : takenBack(after?.text ?? '', hunks);
  const isIt = text !== undefined && (id === undefined || objectId(text) === id);
  return { ...known, text: isIt ? text : undefined };
}

/** Only line feeds end lines: others stand in texts. */
function headerOf(section: string): Header {
  const start = section.indexOf('\n@@ ') + 1;
  const head = (start > 0 ? section.slice(0, start) : section).split('\n');
  const rest = (begin: string) => head.find((line) => line.startsWith(begin))?.slice(begin.length);
  const [from, to] = namesOf(head[0]?.slice('diff --git '.length) ?? '', rest);
  const oldMode = rest('old mode ') ?? rest('deleted file mode ');
  return {
    ...{ from, to },
    isNew: rest('new file mode ') !== undefined,
    isDeleted: rest('deleted file mode ') !== undefined,
    mode: oldMode === undefined ? undefined : Number.parseInt(oldMode, 8),
    id: rest('index ')?.slice(0, 40),
    hunks: start > 0 ? section.slice(start) : rest('Binary files ') === undefined && rest('index ') ? '' : undefined,
    isMoved: from !== to,
  };
}

/** The lines that have one name each say it best. */
function namesOf(header: string, rest: (begin: string) => string | undefined): readonly [from: string, to: string] {
  const [from, to] = namesIn(header);
  const [old, now] = [rest('--- '), rest('+++ ')];
  const named = (line: string | undefined) =>
    line === undefined || line === '/dev/null' ? undefined : plainName(line).slice(2);
  const moved = (line: string | undefined) => (line === undefined ? undefined : plainName(line));
  if (rest('new file mode ') !== undefined) return [named(now) ?? to, named(now) ?? to];
  if (rest('deleted file mode ') !== undefined) return [named(old) ?? from, named(old) ?? from];
  return [moved(rest('rename from ')) ?? named(old) ?? from, moved(rest('rename to ')) ?? named(now) ?? to];
}

/** The text before unified hunks were applied to it; undefined when it does not hold what they left. */
export function takenBack(text: string, hunks: string): string | undefined {
  const now = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const before: string[] = [];
  let at = 0;
  for (const line of hunks.match(/[^\n]*\n(?:\\ No newline at end of file\n)?/g) ?? []) {
    const start = /^@@ -\d+(?:,\d+)? \+(\d+)(,0)?/.exec(line);
    if (start) {
      for (const to = Number(start[1]) - (start[2] ? 0 : 1); at < to; at++) before.push(now[at] ?? '');
      continue;
    }
    const content = line.slice(1).replace(/\n\\ No newline at end of file\n$/, '');
    if (line[0] !== '-' && now[at++] !== content) return undefined;
    if (line[0] !== '+') before.push(content);
  }
  return [...before, ...now.slice(at)].join('');
}
