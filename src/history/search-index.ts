// Which threads may have a text in their preview, name or title: an index of all runs of three characters, filled in the background.

import { systemClock } from '../base/clock.ts';
import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { spared } from './checksum.ts';
import { below, type Key, type KeyRange, type Keys } from './keys.ts';
import { breathe, type Row, type Rows } from './rows.ts';

/** Threads that may wait for the index: every search looks at them one by one. */
export const FRESH_AT_MOST = 256;
/** Threads entered by one transaction, and for how long it may hold up others, in ms. */
const CHUNK = 100;
const CHUNK_MS = 10;
/** Runs of a term of which the rarest is sought. */
const PROBES = 24;
const LENGTH = 3;
/** Before the end of a text: every character begins a run. */
const END = '\u0000';

interface Searched {
  /** The thread's number in the index. */
  readonly n: number;
  readonly text: string;
}

/** What is searched, in the form in which it is compared. */
export const searchText = (meta: ThreadMeta): string => textsOf(meta).join(END).toLowerCase();

/** What a thread is called, by its first words or otherwise. */
export const textsOf = ({ preview, name, title }: ThreadMeta): string[] =>
  title === null ? [preview, name ?? ''] : [preview, name ?? '', title];

/** Inside a transaction: the thread is looked at by every search until the index has it. */
export function noteText(rows: Rows, keys: Keys, before: ThreadMeta | undefined, after: ThreadMeta | undefined): void {
  if (after === undefined) {
    if (before !== undefined) rows.remove(keys.fresh(before.id));
    return;
  }
  // The title is there from the beginning.
  if (before !== undefined && before.preview === after.preview && before.name === after.name) return;
  const old = before === undefined ? END : searchText(before);
  if (searchText(after) !== old) rows.put(keys.fresh(after.id), after.id);
}

/**
 * Threads among which are all that have the term, or undefined when more than `most` may have it. Reads no more than a
 * few times `most` rows.
 */
export function candidates(rows: Rows, keys: Keys, term: string, most: number): ThreadId[] | undefined {
  const fresh = rows.scan({ ...below(keys.fresh()), limit: most + 1 }).map(idOf);
  if (fresh.length > most) return undefined;
  let rarest: readonly Key[] | undefined;
  let limit = most + 1;
  for (const range of rangesOf(keys, term)) {
    const found = rows.scan({ ...range, limit });
    if (found.length >= limit) continue;
    rarest = found.map(({ key }) => key);
    limit = Math.max(1, found.length);
    if (found.length <= 1) break;
  }
  if (rarest === undefined) return undefined;
  const numbers = new Set(rarest.map((key) => key.at(-1) as number));
  const indexed: ThreadId[] = [];
  for (const n of numbers) {
    const [row] = rows.scan({ ...below(keys.numbered(n)), limit: 1 });
    if (row?.isDamaged) return undefined;
    if (row !== undefined) indexed.push(row.text);
  }
  return [...new Set([...fresh, ...indexed])];
}

/** A damaged value is as good as its key, but for ids that are too long for one. */
const idOf = ({ key, text, isDamaged }: Row): ThreadId => (isDamaged ? (key.at(-1) as string) : text);

function rangesOf(keys: Keys, term: string): KeyRange[] {
  if (term.length < LENGTH) return [{ from: keys.gram(escaped(term)), to: keys.gram(`${escaped(term)}\uffff`) }];
  const grams = [...new Set(gramsOf(term, false))];
  const step = Math.max(1, Math.ceil(grams.length / PROBES));
  return grams.filter((_, index) => index % step === 0).map((gram) => below(keys.gram(gram)));
}

/** `isWhole`: the runs of a stored text, which also begin at its last characters. */
function gramsOf(text: string, isWhole: boolean): string[] {
  const padded = isWhole ? text + END.repeat(LENGTH - 1) : text;
  const grams: string[] = [];
  for (let index = 0; index + LENGTH <= padded.length; index += 1)
    grams.push(escaped(padded.slice(index, index + LENGTH)));
  return grams;
}

/** As an element of a key; a beginning of a text becomes a beginning of its escaped form. */
export const escaped = (text: string): string =>
  /^[\x20-\x24\x26-\x7e]*$/.test(text)
    ? text
    : Array.from({ length: text.length }, (_, index) => {
        const character = text[index] as string;
        return /[\x20-\x24\x26-\x7e]/.test(character)
          ? character
          : `%${text.charCodeAt(index).toString(16).padStart(4, '0')}`;
      }).join('');

/** Enters the threads that wait, a few at a time; `metaOf` as of the moment it is asked. Stops on abort. */
export async function fillIndex(
  rows: Rows,
  keys: Keys,
  metaOf: (id: ThreadId) => ThreadMeta | undefined,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const ids = rows.scan({ ...below(keys.fresh()), limit: CHUNK }).map(idOf);
    if (ids.length === 0) return;
    await rows.write(() => {
      const end = systemClock.elapsed() + CHUNK_MS;
      for (const id of ids) {
        enter(rows, keys, id, metaOf(id));
        if (systemClock.elapsed() > end) break;
      }
    });
    await breathe();
  }
}

function enter(rows: Rows, keys: Keys, id: ThreadId, meta: ThreadMeta | undefined): void {
  rows.remove(keys.fresh(id));
  if (meta === undefined) return;
  const text = searchText(meta);
  const row = spared(() => rows.get(keys.searched(id)));
  const known = row === undefined ? undefined : (JSON.parse(row) as Searched);
  const n = known?.n ?? nextNumber(rows, keys);
  const old = new Set(known === undefined ? [] : gramsOf(known.text, true));
  const now = new Set(gramsOf(text, true));
  for (const gram of old) if (!now.has(gram)) rows.remove(keys.gram(gram, n));
  for (const gram of now) if (!old.has(gram)) rows.put(keys.gram(gram, n), '1');
  rows.put(keys.numbered(n), id);
  rows.put(keys.searched(id), JSON.stringify({ n, text } satisfies Searched));
}

function nextNumber(rows: Rows, keys: Keys): number {
  const [last] = rows.scan({ ...below(keys.numbered()), reverse: true, limit: 1 });
  return last === undefined ? 1 : (last.key.at(-1) as number) + 1;
}

/** The rows elsewhere that a thread's row of the search index stands for. */
export function indexedKeys(keys: Keys, searched: string): Key[] {
  const { n, text } = JSON.parse(searched) as Searched;
  return [keys.numbered(n), ...new Set(gramsOf(text, true))].map((each) =>
    typeof each === 'string' ? keys.gram(each, n) : each,
  );
}
