// What is attached to threads: payloads lie in the log, once; here is who has what.

import type { EventOf, StoredEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import type { Attachment, ThreadMeta } from '../model/thread.ts';
import { textOf } from './chain.ts';
import { spared } from './checksum.ts';
import { after, below, beyond, type Keys } from './keys.ts';
import { PAGE_CHARACTERS, revive, type Source } from './reader.ts';
import { decode } from './records.ts';
import { breathe, type Rows } from './rows.ts';
import type { AttachmentRow, Attachments, OwnerQuery, Page } from './store.ts';

/** Rows looked at before other work gets its turn. */
const STEP = 100;
/** Owners looked at by one page. */
const LOOKED_AT = 2000;

/** Inside a transaction. */
export function attach(rows: Rows, keys: Keys, id: ThreadId, seq: Seq, attachment: Attachment): void {
  const { attachmentType, identityKey } = attachment;
  detach(rows, keys, id, attachmentType, identityKey);
  rows.put(keys.attachment(id, seq), attachment.id);
  rows.put(keys.attachmentSeq(id, attachmentType, identityKey), String(seq));
  rows.put(keys.attached(attachmentType, identityKey, id), id);
}

/** Inside a transaction. */
export function detach(rows: Rows, keys: Keys, id: ThreadId, type: string, key: string): void {
  const seq = spared(() => rows.get(keys.attachmentSeq(id, type, key)));
  if (seq !== undefined) rows.remove(keys.attachment(id, Number(seq)));
  rows.remove(keys.attachmentSeq(id, type, key));
  rows.remove(keys.attached(type, key, id));
}

export function openAttachments(source: Source, metaOf: (id: ThreadId) => ThreadMeta | undefined): Attachments {
  const { rows, keys } = source;
  return {
    async find(id, type, key) {
      const seq = rows.get(keys.attachmentSeq(id, type, key));
      return seq === undefined ? undefined : read(source, id, Number(seq));
    },
    page: (id, limit, afterSeq) => page(source, id, limit, afterSeq),
    owners: (type, key, query) => owners(source, type, key, query, metaOf),
  };
}

/** Undefined when the record is damaged. */
async function read(source: Source, id: ThreadId, seq: Seq): Promise<Attachment | undefined> {
  const record = spared(() => {
    const text = source.rows.get(source.keys.log(id, seq));
    return text === undefined ? undefined : decode<StoredEvent<EventOf<'attachmentAdded'>>>(textOf(text));
  });
  return record && (await revive(source, id, record)).event.attachment;
}

async function page(source: Source, id: ThreadId, limit: number, afterSeq: Seq = 0): Promise<Page<AttachmentRow>> {
  const { rows, keys } = source;
  const found: AttachmentRow[] = [];
  let characters = 0;
  let range = { ...below(keys.attachment(id)), from: after(keys.attachment(id, afterSeq)) };
  for (;;) {
    const step = rows.scan({ ...range, limit: Math.min(STEP, limit + 1) });
    for (const { key } of step) {
      if (found.length === limit || characters >= PAGE_CHARACTERS) return { rows: found, hasMore: true };
      const seq = key.at(-1) as Seq;
      const attachment = await read(source, id, seq);
      if (attachment === undefined) continue;
      found.push({ seq, attachment });
      const { attachmentType, identityKey, payload } = attachment;
      characters += attachmentType.length + identityKey.length + payload.length;
    }
    const last = step.at(-1);
    if (last === undefined) return { rows: found, hasMore: false };
    range = beyond(range, last.key, false);
    await breathe();
  }
}

async function owners(
  { rows, keys }: Source,
  type: string,
  key: string,
  query: OwnerQuery,
  metaOf: (id: ThreadId) => ThreadMeta | undefined,
): Promise<Page<ThreadMeta>> {
  const found: ThreadMeta[] = [];
  let range = below(keys.attached(type, key));
  if (query.after !== undefined) range = { ...range, from: after(keys.attached(type, key, query.after)) };
  for (let looked = 0; ; ) {
    const step = rows.scan({ ...range, limit: STEP });
    for (const { text } of step) {
      const meta = text === '' ? undefined : metaOf(text);
      if (meta === undefined || (query.archived !== undefined && meta.archived !== query.archived)) continue;
      if (found.length === query.limit) return { rows: found, hasMore: true };
      found.push(meta);
    }
    const last = step.at(-1);
    if (last === undefined) return { rows: found, hasMore: false };
    looked += step.length;
    if (looked >= LOOKED_AT && found.length > 0) return { rows: found, hasMore: true };
    range = beyond(range, last.key, false);
    await breathe();
  }
}
