// Pages of a queue, and how much may wait.

import { expect, test } from 'vitest';
import type { QueuedSubmission } from '../../../src/model/thread.ts';
import { checkQueueSize, queuePage } from '../../../src/threads/queue-pages.ts';

const MIB = 1024 * 1024;

const entry = (id: string, bytes = 0): QueuedSubmission => ({
  id,
  input: [{ type: 'image', url: `data:image/png;base64,${'A'.repeat(bytes)}` }] as QueuedSubmission['input'],
  clientUserMessageId: id,
  responsesapiClientMetadata: null,
});

function walked(queue: readonly QueuedSubmission[], limit?: number): string[][] {
  const pages: string[][] = [];
  for (let cursor: string | null = null; ; ) {
    const page = queuePage(queue, { cursor, limit }, 't');
    pages.push(page.data.map(({ id }) => id));
    cursor = page.nextCursor;
    if (cursor === null) return pages;
  }
}

test('a page ends by its bytes, and has at least one entry', () => {
  const sizes = [2, 2, 2, 7, 0, 0];
  const queue = sizes.map((size, index) => entry(String(index), size * MIB));
  expect(walked(queue)).toEqual([['0', '1'], ['2'], ['3'], ['4', '5']]);
  expect(walked(queue, 1)).toEqual([['0'], ['1'], ['2'], ['3'], ['4'], ['5']]);
  expect(walked([])).toEqual([[]]);
  expect(() => queuePage(queue, { cursor: '7' }, 't')).toThrow('invalid cursor');
});

test('what waits is small enough together', () => {
  const queue = [entry('a', 3 * MIB), entry('b', 3 * MIB)];
  checkQueueSize(queue, 't');
  expect(() => checkQueueSize([...queue, entry('c', 2 * MIB)], 't')).toThrow(
    expect.objectContaining({ kind: 'conflict', data: { threadId: 't' } }),
  );
});
