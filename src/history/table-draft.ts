// The tables of a thread within one transaction: a row that several of its events change is read once and written once.

import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { Keys } from './keys.ts';
import type { Rows } from './rows.ts';
import { applyChange, tableReader } from './table-rows.ts';
import type { Change, TableReader, TurnSpan } from './tables.ts';

export class TableDraft implements TableReader {
  readonly #rows: Rows;
  readonly #keys: Keys;
  readonly #id: ThreadId;
  readonly #stored: TableReader;
  readonly #turns = new Map<TurnId, TurnSpan>();
  readonly #places = new Map<ItemId, Seq>();
  /** The last change of each row that is to be written. */
  readonly #unwritten = new Map<string, Change>();

  constructor(rows: Rows, keys: Keys, id: ThreadId) {
    this.#rows = rows;
    this.#keys = keys;
    this.#id = id;
    this.#stored = tableReader(rows, keys, id);
  }

  turn(turnId: TurnId): TurnSpan | undefined {
    const turn = this.#turns.get(turnId) ?? this.#stored.turn(turnId);
    if (turn !== undefined) this.#turns.set(turnId, turn);
    return turn;
  }

  itemSeq(itemId: ItemId): Seq | undefined {
    return this.#places.get(itemId) ?? this.#stored.itemSeq(itemId);
  }

  /** In order. What has not been written by `write` is not read by others in the transaction. */
  apply(change: Change): void {
    switch (change.change) {
      case 'turn':
        this.#turns.set(change.row.id, change.row);
        this.#unwritten.set(`turn ${change.row.id}`, change);
        return;
      case 'item':
        this.#places.set(change.row.item.id, change.row.seq);
        this.#unwritten.set(`item ${change.row.item.id}`, change);
        return;
      case 'itemPlace':
        this.#places.set(change.itemId, change.seq);
        break;
      case 'turnReverted':
        // It takes away rows that may be among those.
        this.write();
        this.#turns.clear();
        this.#places.clear();
    }
    applyChange(this.#rows, this.#keys, this.#id, change);
  }

  /** Writes what has been changed so far. */
  write(): void {
    for (const change of this.#unwritten.values()) applyChange(this.#rows, this.#keys, this.#id, change);
    this.#unwritten.clear();
  }
}
