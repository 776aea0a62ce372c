// How the roots of a search are listed: a few at a time, and told of when that fails.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';

const listing = vi.hoisted(() => ({ now: 0, most: 0, roots: [] as string[] }));

vi.mock('../../src/fs/file-list.ts', () => ({
  async listFiles(root: string, _parts: unknown, _signal: AbortSignal, take: (data: Buffer) => void) {
    if (root.endsWith('broken')) throw new AppError('unavailable', 'cannot be listed');
    listing.now += 1;
    listing.most = Math.max(listing.most, listing.now);
    await new Promise((resolve) => setTimeout(resolve, 20));
    take(Buffer.from('main.ts\0'));
    listing.now -= 1;
    listing.roots.push(root);
  },
}));

let client: TestClient;

beforeEach(async () => {
  Object.assign(listing, { now: 0, most: 0, roots: [] });
  client = await (await startApp()).connect({ experimentalApi: true });
});
afterEach(cleanUp);

const rootsOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `/root-${index}`);

test('many roots are listed a few at a time, and no more than may be are named', async () => {
  const { files } = await client.request('fuzzyFileSearch', { query: 'main', roots: rootsOf(32) });
  expect(files).toHaveLength(32);
  expect(listing.most).toBe(4);
  expect(listing.roots.sort()).toEqual(rootsOf(32).sort());
  const many = { query: 'main', sessionId: 's', roots: rootsOf(33) };
  for (const method of ['fuzzyFileSearch', 'fuzzyFileSearch/sessionStart']) {
    expect((await client.refusal(method, many)).code).toBe(-32602);
  }
});

test('a session that cannot be listed is completed, and is no more', async () => {
  await client.request('fuzzyFileSearch/sessionStart', { sessionId: 's', roots: ['/broken', '/root'] });
  expect(await client.notified('fuzzyFileSearch/sessionCompleted')).toEqual({ sessionId: 's' });
  const update = { sessionId: 's', query: 'main' };
  expect((await client.refusal('fuzzyFileSearch/sessionUpdate', update)).code).toBe(-32004);
  await client.request('fuzzyFileSearch/sessionStart', { sessionId: 's', roots: ['/broken'] });
  await client.settled();
  expect(client.news('fuzzyFileSearch/sessionCompleted')).toHaveLength(2);
  expect((await client.refusal('fuzzyFileSearch/sessionUpdate', update)).code).toBe(-32004);
});
