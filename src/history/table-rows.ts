// The tables of a thread as rows: reads for the derivation, and writes of what it gives.

import type { ThreadId } from '../model/ids.ts';
import { attach, detach } from './attachments.ts';
import { ENDLESS, type Keys } from './keys.ts';
import { decode, encodeRow } from './records.ts';
import { type Rows, undamaged } from './rows.ts';
import { spendDeltas } from './spent-deltas.ts';
import type { ItemRow } from './store.ts';
import type { Change, TableReader, TurnSpan } from './tables.ts';
import { noteMessages } from './word-index.ts';

/** Inside a transaction it sees what this transaction has written. */
export function tableReader(rows: Rows, keys: Keys, id: ThreadId): TableReader {
  return {
    turn(turnId) {
      const seq = rows.get(keys.turnSeq(id, turnId));
      const text = seq === undefined ? undefined : rows.get(keys.turn(id, Number(seq)));
      return text === undefined ? undefined : decode<TurnSpan>(text).value;
    },
    itemSeq(itemId) {
      const seq = rows.get(keys.itemSeq(id, itemId));
      return seq === undefined ? undefined : Number(seq);
    },
  };
}

/** Inside a transaction. The long strings of an item are on disk already, with its event. */
export function applyChange(rows: Rows, keys: Keys, id: ThreadId, change: Change): void {
  switch (change.change) {
    case 'turn':
      rows.put(keys.turn(id, change.row.seq), encodeRow(change.row).text);
      return;
    case 'item':
      rows.put(keys.item(id, change.row.seq), encodeRow(change.row).text);
      rows.put(keys.itemSeq(id, change.row.item.id), String(change.row.seq));
      return;
    case 'itemPlace':
      rows.put(keys.itemSeq(id, change.itemId), String(change.seq));
      return;
    case 'context':
      rows.put(keys.context(id, change.seq), change.turnId);
      return;
    case 'attachment':
      attach(rows, keys, id, change.seq, change.attachment);
      return;
    case 'attachmentRemoved':
      detach(rows, keys, id, change.attachmentType, change.identityKey);
      return;
    case 'turnOpened': {
      const { turnId, seq } = change;
      rows.put(keys.turnSeq(id, turnId), String(seq));
      rows.put(keys.openTurn(id, turnId), JSON.stringify({ threadId: id, turnId, seq }));
      return;
    }
    case 'asideOpened': {
      const { approvalId, seq } = change;
      rows.put(keys.openAside(id, approvalId), JSON.stringify({ threadId: id, turnId: '', seq }));
      return;
    }
    case 'asideClosed':
      rows.remove(keys.openAside(id, change.approvalId));
      return;
    case 'turnClosed':
      rows.remove(keys.openTurn(id, change.row.id));
      spendDeltas(rows, keys, id, change.row, change.running);
      noteMessages(rows, keys, id, change.row.endSeq ?? change.row.seq);
      return;
    case 'itemClosed':
      spendDeltas(rows, keys, id, change.turn, change.running);
      return;
    case 'turnReverted':
      revert(rows, keys, id, change.row);
  }
}

function revert(rows: Rows, keys: Keys, id: ThreadId, turn: TurnSpan): void {
  const last = turn.endSeq === undefined ? ENDLESS : turn.endSeq + 1;
  for (const row of rows.scan({ from: keys.item(id, turn.seq), to: keys.item(id, last), limit: Infinity })) {
    const { key, text } = undamaged(row);
    const { turnId, item } = decode<ItemRow>(text).value;
    if (turnId !== turn.id) continue;
    rows.remove(key);
    rows.remove(keys.itemSeq(id, item.id));
  }
  const contexts = rows.scan({ from: keys.context(id, turn.seq), to: keys.context(id, last), limit: Infinity });
  for (const { key, text } of contexts.map(undamaged)) if (text === turn.id) rows.remove(key);
  rows.remove(keys.turn(id, turn.seq));
  rows.remove(keys.turnSeq(id, turn.id));
  rows.remove(keys.openTurn(id, turn.id));
  spendDeltas(rows, keys, id, turn, []);
}
