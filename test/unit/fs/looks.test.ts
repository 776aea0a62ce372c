// Looks at what has changed: joined, a few at once, and none lost.

import { expect, test } from 'vitest';
import { type Deferred, deferred } from '../../../src/base/signals.ts';
import { Looks, MAX_WAITING_LOOKS } from '../../../src/fs/looks.ts';

function looking() {
  const begun: string[] = [];
  const ends = new Map<string, Deferred<void>>();
  let floods = 0;
  const looks = new Looks({
    look: (path) => {
      begun.push(path);
      const end = deferred();
      ends.set(path, end);
      return end.promise;
    },
    tooMany: () => (floods += 1),
  });
  return { begun, looks, end: (path: string) => ends.get(path)?.resolve(), floods: () => floods };
}
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a path is looked at once at a time, and once more for all that came meanwhile', async () => {
  const { begun, looks, end } = looking();
  for (let index = 0; index < 100_000; index += 1) looks.add(index % 2 === 0 ? '/a' : '/b');
  expect(begun).toEqual(['/a', '/b']);
  end('/a');
  await turn();
  expect(begun).toEqual(['/a', '/b', '/a']);
  end('/a');
  await turn();
  expect(begun).toEqual(['/a', '/b', '/a']);
});

test('a few are under way, a bounded number waits, and more are said to be too many', async () => {
  const { begun, looks, end, floods } = looking();
  for (let index = 0; index < MAX_WAITING_LOOKS + 16; index += 1) looks.add(`/${index}`);
  expect([begun.length, floods()]).toEqual([16, 0]);
  looks.add('/one-more');
  expect(floods()).toBe(1);
  end('/0');
  await turn();
  expect(begun).toHaveLength(16); // those that waited are forgotten
  looks.close();
  looks.add('/late');
  expect(begun).toHaveLength(16);
});
