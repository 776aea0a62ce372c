// The lists of models that are kept: asked for once at a time, new again after a while, and never waited for for long.

import { expect, test } from 'vitest';
import type { ProviderAccess } from '../../../../src/agent/models/client.ts';
import type { ListedModel } from '../../../../src/agent/models/listing.ts';
import { ListingCache } from '../../../../src/agent/models/listing-cache.ts';
import { deferred } from '../../../../src/base/signals.ts';
import { ManualClock } from '../../transports/manual-clock.ts';
import { accessTo } from './access.ts';

const model = (id: string): ListedModel => ({ id, displayName: null, contextWindow: null, modalities: null });
const ACCESS = accessTo({ baseUrl: 'http://127.0.0.1:9/v1' });
const MINUTE = 60_000;

/** Each answer is what the provider says next. */
function cacheOf(...answers: (readonly ListedModel[] | Error)[]) {
  const clock = new ManualClock();
  const asked: ProviderAccess[] = [];
  const cache = new ListingCache(async (access) => {
    asked.push(access);
    const answer = answers.shift() ?? [];
    if (answer instanceof Error) throw answer;
    return answer;
  }, clock);
  return { cache, clock, asked };
}

test('is asked for once, however many want it, and again after ten minutes in the background', async () => {
  const { cache, clock, asked } = cacheOf([model('a')], [model('b')]);
  expect(cache.known(ACCESS)).toEqual([]);
  expect(await Promise.all([cache.get(ACCESS, 1000), cache.get(ACCESS, 1000)])).toEqual([[model('a')], [model('a')]]);
  clock.advance(9 * MINUTE);
  expect(await cache.get(ACCESS, 1000)).toEqual([model('a')]);
  expect(asked).toHaveLength(1);
  clock.advance(2 * MINUTE);
  // What is known is better than waiting.
  expect(await cache.get(ACCESS, 1000)).toEqual([model('a')]);
  expect(asked).toHaveLength(2);
  expect(await cache.get(ACCESS, 1000)).toEqual([model('b')]);
  expect(cache.known(ACCESS)).toEqual([model('b')]);
});

test('a provider that gives none is left alone for a minute, and keeps what it gave before', async () => {
  const { cache, clock, asked } = cacheOf(new Error('no'), [model('a')], new Error('no'));
  expect(await cache.get(ACCESS, 1000)).toEqual([]);
  expect(await cache.get(ACCESS, 1000)).toEqual([]);
  expect(asked).toHaveLength(1);
  clock.advance(MINUTE);
  expect(await cache.get(ACCESS, 1000)).toEqual([model('a')]);
  clock.advance(11 * MINUTE);
  await cache.get(ACCESS, 1000);
  expect(await cache.get(ACCESS, 1000)).toEqual([model('a')]);
  expect(asked).toHaveLength(3);
});

test('another key is another list', async () => {
  const { cache } = cacheOf([model('a')], [model('b')]);
  await cache.get({ ...ACCESS, apiKey: 'one' }, 1000);
  expect(await cache.get({ ...ACCESS, apiKey: 'two' }, 1000)).toEqual([model('b')]);
  expect(cache.known({ ...ACCESS, apiKey: 'one' })).toEqual([model('a')]);
});

test('one that does not come is not waited for; closing gives it up', async () => {
  const clock = new ManualClock();
  const given = deferred<AbortSignal>();
  const cache = new ListingCache((_, signal) => {
    given.resolve(signal);
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('given up'))));
  }, clock);
  const waiting = cache.get(ACCESS, 1500);
  const signal = await given.promise;
  clock.advance(1500);
  expect(await waiting).toEqual([]);
  expect(signal.aborted).toBe(false);
  await cache.close();
  expect(signal.aborted).toBe(true);
});

test('at most 32 lists are kept', async () => {
  const { cache, asked } = cacheOf();
  const access = (index: number) => ({ ...ACCESS, id: `p${index}` });
  for (let index = 0; index < 33; index += 1) await cache.get(access(index), 1000);
  await cache.get(access(32), 1000);
  expect(asked).toHaveLength(33);
  await cache.get(access(0), 1000);
  expect(asked).toHaveLength(34);
});
