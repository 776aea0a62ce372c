// Documents of the word index: neighbouring messages of a thread, with their words.

import type { Seq, ThreadId } from '../model/ids.ts';
import { spared } from './checksum.ts';
import { below, ENDLESS, type Keys } from './keys.ts';
import { messagesOf } from './messages.ts';
import type { Source } from './reader.ts';
import type { Rows } from './rows.ts';
import type { OpenTurn } from './store.ts';
import { addWords } from './words.ts';

/** A document ends behind the message that gives it so many words, or characters. */
const DOCUMENT_WORDS = 1000;
const DOCUMENT_CHARACTERS = 64 * 1024;
/** Characters of one message that count. */
const MESSAGE_CHARACTERS = 256 * 1024;

/** Threads that may wait for the index: every search looks at what they have new. */
export const WAITING_AT_MOST = 64;

export interface Document {
  readonly n: number;
  readonly from: Seq;
  readonly to: Seq;
}

/** A document as it is being made. */
export interface Draft {
  /** Absent until it has been written. */
  n: number | undefined;
  readonly from: Seq;
  to: Seq;
  characters: number;
  readonly words: Set<string>;
  /** Words of it that are not entered. */
  readonly added: Set<string>;
}

/** Lets others go first; false: the work is to end. */
export type GiveWay = () => Promise<boolean>;

/** The documents of a thread, in order. */
export function documentsOf({ rows, keys }: Source, id: ThreadId): Document[] {
  const found = rows.scan({ ...below(keys.documents(id)), limit: Infinity });
  return found.flatMap(({ key, text }) => {
    if (text === '') return [];
    const [from, to] = JSON.parse(text) as [Seq, Seq, number];
    return [{ n: key.at(-1) as number, from, to }];
  });
}

/**
 * What the messages of ended turns behind those that have been entered add: the last document going on, then others. Ends
 * with the document that reaches so many words; `isWhole`: nothing is left. Waits for `giveWay` before each message.
 */
export async function draftsOf(
  source: Source,
  id: ThreadId,
  most: number,
  giveWay: GiveWay,
): Promise<{ readonly drafts: readonly Draft[]; readonly isWhole: boolean }> {
  const through = enteredThrough(source, id);
  const drafts: Draft[] = [];
  let total = 0;
  let open = lastDraft(source, id, through);
  if (open !== undefined) drafts.push(open);
  for await (const { seq, text } of messagesOf(source, id, through + 1, openFrom(source, id))) {
    if (!(await giveWay())) return { drafts, isWhole: false };
    if (open === undefined || isFull(open)) {
      total += open?.added.size ?? 0;
      if (total > most) return { drafts, isWhole: false };
      open = { n: undefined, from: seq, to: seq, characters: 0, words: new Set(), added: new Set() };
      drafts.push(open);
    }
    extend(open, seq, text);
  }
  return { drafts, isWhole: true };
}

/** What threads have that is not entered, unless too many have something. */
export function unentered(source: Source): ReadonlyMap<ThreadId, Pick<Document, 'from' | 'to'>> {
  const { rows, keys } = source;
  const due = rows.scan({ ...below(keys.due()), limit: WAITING_AT_MOST + 1 });
  if (due.length > WAITING_AT_MOST) return new Map();
  return new Map(
    due.flatMap(({ text }) => {
      if (text === '') return [];
      const [id] = JSON.parse(text) as [ThreadId, Seq];
      return [[id, { from: enteredThrough(source, id) + 1, to: openFrom(source, id) - 1 }]];
    }),
  );
}

const enteredThrough = ({ rows, keys }: Source, id: ThreadId): Seq =>
  Number(spared(() => rows.get(keys.worded(id))) ?? 0);

/** Inside a transaction: what a removal has to know, before any of its words are entered. */
export function putDocument(rows: Rows, keys: Keys, id: ThreadId, draft: Draft): void {
  draft.n ??= nextNumber(rows, keys);
  rows.put(keys.document(draft.n), id);
  rows.put(keys.documents(id, draft.n), JSON.stringify([draft.from, draft.to, draft.characters]));
  rows.put(keys.documentWords(id, draft.n), [...draft.words].join(' '));
}

/** The document that goes on; of one that was cut off everything is entered again. */
function lastDraft({ rows, keys }: Source, id: ThreadId, through: Seq): Draft | undefined {
  const [row] = rows.scan({ ...below(keys.documents(id)), reverse: true, limit: 1 });
  if (row === undefined || row.isDamaged) return undefined;
  const n = row.key.at(-1) as number;
  const text = spared(() => rows.get(keys.documentWords(id, n)));
  if (text === undefined) return undefined;
  const [from, to, characters] = JSON.parse(row.text) as [Seq, Seq, number];
  const words = new Set(text === '' ? [] : text.split(' '));
  return { n, from, to, characters, words, added: new Set(to > through ? words : []) };
}

/** The place of the first turn that has not ended. */
function openFrom({ rows, keys }: Source, id: ThreadId): Seq {
  const open = rows.scan({ ...below(keys.openTurnsOf(id)), limit: Infinity });
  const turns = open
    .flatMap(({ text }) => (text === '' ? [] : [JSON.parse(text) as OpenTurn]))
    .filter(({ turnId }) => turnId !== '');
  return Math.min(ENDLESS, ...turns.map(({ seq }) => seq));
}

const isFull = ({ words, characters }: Draft): boolean =>
  words.size >= DOCUMENT_WORDS || characters >= DOCUMENT_CHARACTERS;

function extend(draft: Draft, seq: Seq, text: string): void {
  const found = new Set<string>();
  addWords(text.slice(0, MESSAGE_CHARACTERS), found);
  for (const word of found) {
    if (!draft.words.has(word)) draft.added.add(word);
    draft.words.add(word);
  }
  draft.to = seq;
  draft.characters += text.length;
}

function nextNumber(rows: Rows, keys: Keys): number {
  const [last] = rows.scan({ ...below(keys.document()), reverse: true, limit: 1 });
  return last === undefined ? 1 : (last.key.at(-1) as number) + 1;
}
