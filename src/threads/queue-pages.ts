// Pure: pages of a thread's queue that fit into a frame, and how large a queue may become.

import { AppError } from '../base/errors.ts';
import { cursorAt, type Page, type PageRequest, pageOf } from '../base/page.ts';
import type { QueuedSubmission } from '../model/thread.ts';

/** Bytes of JSON after which a page ends. */
const MAX_PAGE_BYTES = 6 * 1024 * 1024;
/** Bytes of JSON of all that waits on one thread: each change of the queue stores the whole of it. */
const MAX_QUEUE_BYTES = 8 * 1024 * 1024;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** As many entries as a page takes, at least one. Throws as *invalid* on a cursor that no page has given. */
export function queuePage(
  queue: readonly QueuedSubmission[],
  request: PageRequest,
  threadId: string,
): Page<QueuedSubmission> {
  const keys = { scope: ['thread/queue/list', threadId], keyOf: ({ id }: QueuedSubmission) => id };
  const page = pageOf(queue, request, keys);
  let size = 0;
  const end = page.data.findIndex((entry, index) => {
    size += bytesOf(entry);
    return size > MAX_PAGE_BYTES && index > 0;
  });
  if (end === -1) return page;
  const [first] = page.data;
  const start = first === undefined ? 0 : queue.indexOf(first);
  return { data: page.data.slice(0, end), nextCursor: cursorAt(queue, start + end, keys) };
}

/** For a queue that is about to be stored. Throws as *conflict* when its entries are too large together. */
export function checkQueueSize(queue: readonly QueuedSubmission[], threadId: string): void {
  const size = queue.reduce((sum, entry) => sum + bytesOf(entry), 0);
  if (size <= MAX_QUEUE_BYTES) return;
  const text = `what waits may have no more than ${MAX_QUEUE_BYTES} bytes of JSON together; let some of it run first`;
  throw new AppError('conflict', text, { threadId });
}
