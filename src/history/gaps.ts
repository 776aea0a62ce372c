// What stands in a log where retention has removed records: enough for the chain to go on and for each item to keep its place.

import { AppError } from '../base/errors.ts';
import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import { LINK_LENGTH, type Link, sealed, textOf } from './chain.ts';
import { spared } from './checksum.ts';
import type { Keys } from './keys.ts';
import type { Rows } from './rows.ts';

/** Where an item began, the record of which is gone; the one of its end is there. */
export interface ItemPlace {
  readonly seq: Seq;
  readonly turnId: TurnId;
  readonly itemId: ItemId;
  readonly type: Item['type'];
}

/** It lies where the last of the removed records lay, sealed with the link of that. */
export interface Gap {
  /** The first of the removed records. */
  readonly first: Seq;
  /** The link of the record before them. */
  readonly previous: Link;
  readonly places: readonly ItemPlace[];
}

/** Records of events are canonical and begin otherwise. */
const MARK = '{"gap":';

export const isGap = (record: string): boolean => record.startsWith(MARK, LINK_LENGTH);
export const sealedGap = (link: Link, gap: Gap): string => sealed(link, JSON.stringify({ gap }));

/** Undefined: the record is an event. Throws *SyntaxError* for what cannot be read. */
export function gapOf(record: string): Gap | undefined {
  return isGap(record) ? (JSON.parse(textOf(record)) as { readonly gap: Gap }).gap : undefined;
}

/** How far records may be missing, and how far they have all been looked at. */
export interface Floor {
  readonly seq: Seq;
  readonly done: Seq;
}

const GROUND: Floor = { seq: 0, done: 0 };

/** Of a log that was never trimmed: nothing is missing. */
export function floorOf(rows: Rows, keys: Keys, id: ThreadId): Floor {
  const text = spared(() => rows.get(keys.floor(id)));
  return text === undefined ? GROUND : (JSON.parse(text) as Floor);
}

/** Somebody remembers a place from which on not everything is there any more. */
export const staleCursor = (threadId: ThreadId, after: Seq, oldestSeq: Seq, headSeq: Seq): AppError =>
  new AppError(
    'conflict',
    (after > headSeq
      ? `there is no event ${after} yet: the last one is ${headSeq}`
      : `events behind ${after} are no longer kept: they begin behind ${oldestSeq}`) +
      '; read the thread anew (thread/resume without afterEventSeq) and go on from its headSeq',
    { kind: 'stale_cursor', threadId, oldestSeq, headSeq },
  );
