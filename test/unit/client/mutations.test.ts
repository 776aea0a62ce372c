// Which requests a client may send twice: every declared method is one that reads, one with a key, a stop, or known for neither.

import { expect, test } from 'vitest';
import { Mutations } from '../../../src/client/mutations.ts';
import { REQUESTS } from '../../../src/client/typed.ts';

const READS =
  /(^|\/)(list|read|get|pending|explain|search|searchOccurrences|installed|readiness|info|status|capabilities|fuzzyFileSearch|resume|readFile|getMetadata|readDirectory|getAuthStatus|checkGovCloudRequirements)$/;

test('a method that changes something has a key, or is not sent again by itself', () => {
  const mutations = new Mutations(() => {});
  const unknown = [...REQUESTS.values()].filter(
    (method) =>
      !method.isHandshake &&
      !method.isStop &&
      mutations.of(method, undefined) === undefined &&
      !READS.test(method.method),
  );
  expect(unknown.map(({ method }) => method)).toEqual([]);
  expect(mutations.of(REQUESTS.get('turn/start')!, undefined)?.idempotencyKey).toMatch(/^[\da-f]{32}$/);
  expect(mutations.of(REQUESTS.get('turn/start')!, 'own')?.idempotencyKey).toBe('own');
  expect(mutations.of(REQUESTS.get('process/spawn')!, 'own')?.idempotencyKey).toBeUndefined();
  expect(mutations.of(REQUESTS.get('thread/read')!, undefined)).toBeUndefined();
});

test('no more than 1,024 are remembered of which the end is not known', () => {
  const mutations = new Mutations(() => {});
  for (let count = 0; count < 1_100; count += 1) {
    const mutation = mutations.of(REQUESTS.get('turn/steer')!, `key-${count}`)!;
    mutations.begin(mutation);
    mutation.set('unknown');
    mutations.settled(mutation);
  }
  const keys = mutations.list().map(({ idempotencyKey }) => idempotencyKey);
  expect(keys).toHaveLength(1_024);
  expect(keys.at(-1)).toBe('key-1099');
});
