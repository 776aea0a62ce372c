// What the patches of a turn did before the server was started anew, worked out backwards from the files as they are now.

import type { FileUpdateChange, ItemOf } from '../../model/item.ts';
import type { FileDifference, FileState } from './turn-diff.ts';

/** Of a file whose mode nobody has kept. */
const PLAIN = 0o644;

/**
 * One list for each item, in their order. `read` gives a file as it is now. A file that something else has changed since is left out from that change
 * backwards: nobody knows any more what it was.
 */
export async function earlierDifferences(
  items: readonly ItemOf<'fileChange'>[],
  read: (path: string) => Promise<FileState | null>,
): Promise<readonly (readonly FileDifference[])[]> {
  const files = new Map<string, FileState | null | undefined>();
  const stateOf = async (path: string) => {
    if (!files.has(path)) files.set(path, await read(path).catch(() => undefined));
    return files.get(path);
  };
  const found: FileDifference[][] = [];
  for (const { changes } of items.toReversed()) {
    const differences: FileDifference[] = [];
    for (const change of changes.toReversed()) {
      const to = targetOf(change);
      const after = await stateOf(to);
      const before = after === undefined ? undefined : beforeOf(change, after);
      files.set(to, to === change.path ? before : null);
      files.set(change.path, before);
      if (after === undefined || before === undefined) continue;
      differences.push({ path: to, ...(to === change.path ? {} : { movedFrom: change.path }), before, after });
    }
    found.push(differences.reverse());
  }
  return found.reverse();
}

const targetOf = ({ path, kind }: FileUpdateChange): string =>
  kind.type === 'update' && kind.move_path !== null ? kind.move_path : path;

/** Undefined: what is there now is not what the change left. */
function beforeOf({ kind, diff }: FileUpdateChange, after: FileState | null): FileState | null | undefined {
  switch (kind.type) {
    case 'add':
      return after?.text === diff ? null : undefined;
    case 'delete':
      return after === null ? { text: diff, mode: PLAIN } : undefined;
    case 'update': {
      const hunks = kind.move_path === null ? diff : diff.slice(0, diff.lastIndexOf('\n\nMoved to: '));
      const text = after === null ? undefined : takenBack(after.text, hunks);
      return text === undefined || after === null ? undefined : { ...after, text };
    }
  }
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
