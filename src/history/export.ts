// A thread as one file: hash-chained JSONL with its long values in it, which can be verified without a server.

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { sha256 } from '../base/canonical.ts';
import { AppError, messageOf } from '../base/errors.ts';
import type { StoredEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { noSuchThread } from '../model/missing.ts';
import { firstLink, type Head, type Link, linkOf, nextLink, textOf } from './chain.ts';
import { spared } from './checksum.ts';
import { floorOf, type Gap, gapOf } from './gaps.ts';
import { keysOf } from './keys.ts';
import type { OpenedHistory } from './read-only.ts';
import { decode } from './records.ts';
import { breathe } from './rows.ts';

/** Of a whole log; of one in which retention has left gaps. */
export const EXPORT_VERSION = 1;
const VERSION_WITH_GAPS = 2;

/** The lines of an export: one header, each record behind the long values that it names, one end. */
export type ExportLine =
  | { readonly kind: 'thread'; readonly version: number; readonly tenant: string; readonly threadId: ThreadId }
  | { readonly kind: 'blob'; readonly hash: string; readonly content: string }
  /** `record` is the canonical text over which `link` was made: the SHA-256, in base64url, of `previous` and it. */
  | { readonly kind: 'record'; readonly previous: Link; readonly link: Link; readonly record: string }
  /** Records that retention has removed from the one numbered `gap.first` to `seq`; `link` is that of the last of them. */
  | { readonly kind: 'gap'; readonly seq: Seq; readonly link: Link; readonly gap: Gap }
  | { readonly kind: 'end'; readonly records: number; readonly link: Link };

const STEP = 100;
const STEP_CHARACTERS = 1024 * 1024;

/**
 * The lines of a thread. Throws *notFound* without such a thread, *unavailable* of kind `damaged` at what is not as it was
 * written: such a thread is repaired first.
 */
export async function* exportThread(history: OpenedHistory, tenant: string, id: ThreadId): AsyncGenerator<string> {
  const { rows, readBlob } = history;
  const keys = keysOf(tenant);
  const headText = spared(() => rows.get(keys.head(id)) ?? 'none') ?? headless(id);
  if (headText === 'none') throw noSuchThread(id);
  const head = JSON.parse(headText) as Head;
  const version = floorOf(rows, keys, id).seq > 0 ? VERSION_WITH_GAPS : EXPORT_VERSION;
  yield line({ kind: 'thread', version, tenant, threadId: id });
  let previous = firstLink(id);
  let records = 0;
  let after: Seq = 0;
  for (;;) {
    const range = { from: keys.log(id, after + 1), to: keys.log(id, head.seq + 1) };
    const step = rows.scan({ ...range, limit: STEP, characters: STEP_CHARACTERS });
    if (step.length === 0) break;
    for (const row of step) {
      const { key, text: stored } = row;
      if (row.isDamaged) throw damaged(id, key[4] as Seq);
      const gap = gapOf(stored);
      if (gap !== undefined) {
        // What it stands for may have been read before it was removed.
        if (gap.previous !== previous && gap.first > after) throw damaged(id, key[4] as Seq);
        yield line({ kind: 'gap', seq: key[4] as Seq, link: linkOf(stored), gap: { ...gap, previous } });
        previous = linkOf(stored);
        after = key[4] as Seq;
        continue;
      }
      const [record, link] = [textOf(stored), linkOf(stored)];
      if (nextLink(previous, record) !== link) throw damaged(id, key[4] as Seq);
      for (const { hash } of decode<StoredEvent>(record).refs) {
        const content = await readBlob(hash);
        if (content === undefined) throw damaged(id, key[4] as Seq, `its long value ${hash} is missing or damaged`);
        yield line({ kind: 'blob', hash, content });
      }
      yield line({ kind: 'record', previous, link, record });
      previous = link;
      records += 1;
      after = key[4] as Seq;
    }
    await breathe();
  }
  if (previous !== head.link) throw damaged(id, after + 1);
  yield line({ kind: 'end', records, link: previous });
}

const line = (value: ExportLine): string => `${JSON.stringify(value)}\n`;

const damaged = (threadId: ThreadId, seq: Seq, problem = 'it is not what was written'): AppError =>
  new AppError(
    'unavailable',
    `thread ${threadId} is damaged at record ${seq} (${problem}), and nothing was exported: ` +
      '`heddle history verify` names what is damaged in other threads, `heddle history repair --from BACKUP` makes it whole',
    { kind: 'damaged', threadId, seq },
  );

function headless(threadId: ThreadId): never {
  throw new AppError(
    'unavailable',
    `what says where thread ${threadId} ends is damaged, and nothing was exported: start the server and open the thread, ` +
      'which makes that anew from its log, or run `heddle history repair --from BACKUP`',
    { kind: 'damaged', threadId },
  );
}

/** What stands in an export for records that were removed. */
export interface ExportedGap {
  readonly gap: Gap;
  readonly seq: Seq;
  readonly link: Link;
}

/** A record of an export with the long values that it names. */
export interface ExportedRecord {
  readonly stored: StoredEvent;
  readonly text: string;
  readonly contents: ReadonlyMap<string, string>;
}

export interface ExportDamage {
  /** From 1. */
  readonly line: number;
  readonly problem: string;
  /** What stands there. */
  readonly text: string;
}

export interface ExportVerdict {
  readonly tenant: string | undefined;
  readonly threadId: ThreadId | undefined;
  /** Records that are as they were written. */
  readonly records: number;
  readonly damages: readonly ExportDamage[];
}

/** Reads an export, gives each whole record and each gap to `take` in order, and says what is not as it was written. */
export async function readExport(
  file: string,
  take: (record: ExportedRecord | ExportedGap) => Promise<void> = async () => {},
): Promise<ExportVerdict> {
  const reader = new ExportReader();
  const input = createReadStream(file);
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      const record = reader.read(text);
      if (record !== undefined) await take(record);
    }
  } catch (error) {
    if (error !== input.errored) throw error;
  }
  if (input.errored) throw new AppError('notFound', `${file} cannot be read: ${messageOf(input.errored)}`);
  return reader.end();
}

class ExportReader {
  readonly #damages: ExportDamage[] = [];
  #header: Extract<ExportLine, { kind: 'thread' }> | undefined;
  #contents = new Map<string, string>();
  #line = 0;
  #records = 0;
  #last: Link | undefined;
  /** Of the last whole record or gap. */
  #seq: Seq = 0;
  #hasEnded = false;
  /** The line before was not whole, so that the chain may have a gap here. */
  #isTorn = false;

  read(text: string): ExportedRecord | ExportedGap | undefined {
    this.#line += 1;
    if (text === '') return undefined;
    const found = parsed(text);
    if (found === undefined) return this.#damage('it cannot be read', text);
    if (this.#hasEnded) return this.#damage('it stands behind the end', text);
    switch (found.kind) {
      case 'thread':
        if (this.#line !== 1) return this.#damage('a second beginning', text);
        if (found.version < EXPORT_VERSION || found.version > VERSION_WITH_GAPS) throw newer(found.version);
        this.#header = found;
        this.#last = firstLink(found.threadId);
        return undefined;
      case 'blob':
        if (sha256(found.content) !== found.hash) return this.#damage('a long value is not what was written', text);
        this.#contents.set(found.hash, found.content);
        return undefined;
      case 'record':
        return this.#record(found, text);
      case 'gap':
        return this.#gap(found, text);
      case 'end':
        this.#hasEnded = true;
        if (!this.#isTorn && found.link !== this.#last) this.#damage('records before it are missing', text);
        return undefined;
    }
  }

  end(): ExportVerdict {
    if (this.#line === 0) this.#damage('the file is empty', '');
    else if (!this.#hasEnded && !this.#isTorn) this.#damage('the end is missing: the file was cut off', '');
    const { tenant, threadId } = this.#header ?? {};
    return { tenant, threadId, records: this.#records, damages: this.#damages };
  }

  #record(found: Extract<ExportLine, { kind: 'record' }>, text: string): ExportedRecord | undefined {
    const contents = this.#contents;
    this.#contents = new Map();
    if (nextLink(found.previous, found.record) !== found.link) return this.#damage('it is not what was written', text);
    const isNext = found.previous === this.#last;
    const { value, refs } = decode<StoredEvent>(found.record);
    if (!isNext && !this.#isTorn && this.#last !== undefined) this.#damage('a record before it is missing', '');
    this.#last = found.link;
    if (value.seq <= this.#seq) return this.#damage('its place was taken before', text);
    this.#seq = value.seq;
    if (refs.some(({ hash }) => !contents.has(hash)))
      return this.#damage('a long value that it names is missing', text);
    this.#isTorn = false;
    this.#records += 1;
    return { stored: value, text: found.record, contents };
  }

  #gap({ gap, seq, link }: Extract<ExportLine, { kind: 'gap' }>, text: string): ExportedGap | undefined {
    if (!isWholeGap(gap, seq, link) || seq <= this.#seq) return this.#damage('it cannot be read', text);
    if (gap.previous !== this.#last && !this.#isTorn && this.#last !== undefined)
      this.#damage('a record before it is missing', '');
    this.#last = link;
    this.#seq = seq;
    this.#isTorn = false;
    return { gap, seq, link };
  }

  #damage(problem: string, text: string): undefined {
    this.#damages.push({ line: this.#line, problem, text });
    this.#isTorn = true;
    return undefined;
  }
}

/** No link covers what a gap says of itself. */
function isWholeGap(gap: Gap | undefined, seq: unknown, link: unknown): boolean {
  const isPlace = (place: unknown) => Number.isSafeInteger(place) && (place as Seq) > 0;
  if (!gap || !isPlace(seq) || !isPlace(gap.first) || gap.first > (seq as Seq)) return false;
  if (typeof link !== 'string' || typeof gap.previous !== 'string' || !Array.isArray(gap.places)) return false;
  return gap.places.every((each) => isPlace(each?.seq) && each.seq >= gap.first && each.seq <= (seq as Seq));
}

function parsed(text: string): ExportLine | undefined {
  try {
    const value = JSON.parse(text) as ExportLine;
    return ['thread', 'blob', 'record', 'gap', 'end'].includes(value?.kind) ? value : undefined;
  } catch {
    return undefined;
  }
}

const newer = (version: number): AppError =>
  new AppError(
    'unavailable',
    `the export has version ${version} and this program reads up to version ${VERSION_WITH_GAPS}`,
    {
      kind: 'newer_format',
    },
  );
