// Pure: what `git status --porcelain=v2 -z` says of files.

export type StatusEntry =
  /** In the index, and another one on disk. */
  | { readonly kind: 'changed'; readonly mode: number; readonly blob: string }
  /** On disk only, or in conflict: the index does not tell what it was. */
  | { readonly kind: 'other' };

/** By path, as git names it: relative to the top of the work tree. Repositories inside are left out. */
export function parseStatus(output: Buffer): Map<string, StatusEntry> {
  const entries = new Map<string, StatusEntry>();
  for (const line of output.toString('utf8').split('\0')) {
    const path = pathOf(line);
    if (path === undefined || path.endsWith('/')) continue;
    const entry = entryOf(line);
    if (entry) entries.set(path, entry);
  }
  return entries;
}

/** How many fields, each ended by a blank, come before the path. */
const FIELDS: Readonly<Record<string, number>> = { '1': 8, u: 10, '?': 1 };

function pathOf(line: string): string | undefined {
  const fields = FIELDS[line[0] ?? ''];
  if (fields === undefined) return undefined;
  let at = 0;
  for (let field = 0; field < fields; field++) at = line.indexOf(' ', at) + 1;
  return line.slice(at);
}

function entryOf(line: string): StatusEntry | undefined {
  if (line[0] !== '1') return { kind: 'other' };
  // 1 XY sub mH mI mW hH hI path
  const [, states = '', submodule = '', , mode = '', , , blob = ''] = line.split(' ', 8);
  if (submodule.startsWith('S') || states[1] === '.') return undefined;
  return { kind: 'changed', mode: Number.parseInt(mode, 8), blob };
}
