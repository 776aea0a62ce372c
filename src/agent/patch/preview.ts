// What a model has written of a patch so far, as far as its lines are whole: to be shown, never to be made.

import type { FileUpdateChange } from '../../model/item.ts';

/** Characters by which a patch has to grow before it is shown again, and the part of it: all that is shown is in proportion to it. */
const MIN_GROWTH = 512;
const GROWTH = 0.25;

/** A patch that is longer is not shown before it is whole. */
const MAX_SHOWN = 256 * 1024;

export class PatchPreview {
  #given = '';
  #shownLength = 0;
  #shownFiles = 0;

  /** Takes a piece of the arguments of the call, or of the text of one that is written as such; gives what there is to show now. */
  add(pieces: readonly string[]): readonly FileUpdateChange[] | undefined {
    this.#given += pieces.join('');
    if (this.#given.length > MAX_SHOWN) return undefined;
    const changes = changesIn(textOf(this.#given));
    const growth = this.#given.length - this.#shownLength;
    const isDue = growth >= Math.max(MIN_GROWTH, this.#shownLength * GROWTH);
    if (changes.length === 0 || (changes.length === this.#shownFiles && !isDue)) return undefined;
    this.#shownLength = this.#given.length;
    this.#shownFiles = changes.length;
    return changes;
  }
}

/** Arguments are JSON, and end anywhere. */
function textOf(given: string): string {
  const [, inside] = /^\s*\{\s*"input"\s*:\s*"((?:[^"\\]|\\u[\da-fA-F]{4}|\\[^u])*)/.exec(given) ?? [];
  if (inside === undefined) return given;
  try {
    return JSON.parse(`"${inside}"`) as string;
  } catch {
    return '';
  }
}

function changesIn(text: string): FileUpdateChange[] {
  const changes: { path: string; kind: FileUpdateChange['kind']; lines: string[] }[] = [];
  for (const line of text.split('\n').slice(0, -1)) {
    const [, verb, rest = ''] = /^\*\*\* (Add File|Delete File|Update File|Move to): (.+)$/.exec(line) ?? [];
    const path = rest.trimEnd();
    const last = changes.at(-1);
    if (verb === 'Move to') {
      if (last?.kind.type === 'update') last.kind = { type: 'update', move_path: path };
    } else if (verb !== undefined) changes.push({ path, kind: kindOf(verb), lines: [] });
    else if (last?.kind.type === 'add' && line.startsWith('+')) last.lines.push(line.slice(1));
    else if (last?.kind.type === 'update' && !line.startsWith('***')) last.lines.push(line);
  }
  return changes.map(({ path, kind, lines }) => ({ path, kind, diff: lines.map((line) => `${line}\n`).join('') }));
}

function kindOf(verb: string): FileUpdateChange['kind'] {
  if (verb === 'Add File') return { type: 'add' };
  return verb === 'Delete File' ? { type: 'delete' } : { type: 'update', move_path: null };
}
