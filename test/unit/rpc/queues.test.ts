// Which requests wait for which: in order with one key, together where all share it, free of each other otherwise.

import { describe, expect, test } from 'vitest';
import { type Deferred, deferred } from '../../../src/base/signals.ts';
import { Queues } from '../../../src/rpc/queues.ts';

/** Work that begins when it is let in, and ends when it is told to. */
function bench() {
  const queues = new Queues();
  const begun: string[] = [];
  const ends = new Map<string, Deferred<void>>();
  const enter = (name: string, queue: Parameters<Queues['enter']>[0]) =>
    queues.enter(queue, async () => {
      begun.push(name);
      const end = deferred();
      ends.set(name, end);
      await end.promise;
      return name;
    });
  const end = async (name: string, error?: Error) => {
    const work = ends.get(name)!;
    if (error) work.reject(error);
    else work.resolve();
    // What waited is let in after the end has been told.
    await new Promise(setImmediate);
  };
  return { queues, begun, enter, end };
}

const alone = { key: 'k' };
const shared = { key: 'k', shared: true };

describe('requests of one key', () => {
  test('run one after the other, in order', async () => {
    const { begun, enter, end } = bench();
    const all = ['a', 'b', 'c'].map((name) => enter(name, alone));
    expect(begun).toEqual(['a']);
    await end('a');
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    await end('c');
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c']);
  });

  test('go on after one that fails', async () => {
    const { begun, enter, end } = bench();
    const first = enter('a', alone);
    const refused = expect(first).rejects.toThrow('no');
    void enter('b', alone);
    await end('a', new Error('no'));
    await refused;
    expect(begun).toEqual(['a', 'b']);
    await end('b');
  });

  test('run together while all share it, and none overtakes one that does not', async () => {
    const { begun, enter, end } = bench();
    void enter('a', shared);
    void enter('b', shared);
    void enter('c', alone);
    void enter('d', shared);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('c');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await end('d');
  });
});

test('other keys, and requests without one, wait for nobody', async () => {
  const { begun, enter, end } = bench();
  void enter('a', alone);
  void enter('b', { key: 'other' });
  void enter('c', 'none');
  expect(begun).toEqual(['a', 'b', 'c']);
  for (const name of ['a', 'b', 'c']) await end(name);
});

test('no key is kept when nothing runs', async () => {
  const { queues, enter, end } = bench();
  void enter('a', alone);
  void enter('b', shared);
  expect(queues.size).toBe(1);
  await end('a');
  await end('b');
  expect(queues.size).toBe(0);
});
