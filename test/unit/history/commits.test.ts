// One commit at a time: who shares one, who waits, and that nothing begins behind a failure that is not understood yet.

import { expect, it } from 'vitest';
import { deferred } from '../../../src/base/signals.ts';
import { Commits } from '../../../src/history/commits.ts';

/** A database that commits when it is told to; `begun` are the transactions of each commit. */
function database() {
  const commits: { works: (() => void)[]; end: ReturnType<typeof deferred<void>> }[] = [];
  let open: (typeof commits)[number] | undefined;
  return {
    commits,
    start: <T>(work: () => T): Promise<T> => {
      if (open === undefined) {
        open = { works: [], end: deferred<void>() };
        commits.push(open);
      }
      const mine = open;
      const result = deferred<T>();
      mine.works.push(() => result.resolve(work()));
      return mine.end.promise.then(() => result.promise);
    },
    /** Runs what was started; what comes later belongs to the next commit. */
    begin() {
      for (const work of open?.works ?? []) work();
      open = undefined;
    },
  };
}

/** What is ready to go on has gone on. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('shares a commit until its transactions begin, and begins the next one when it has ended', async () => {
  const { commits, start, begin } = database();
  const queue = new Commits(start, async (error) => error);
  const order: string[] = [];
  const run = (name: string) => queue.run(() => order.push(name));
  const first = [run('a'), run('b')];
  begin();
  const second = [run('c'), run('d')];
  const all = queue.settled();
  expect(commits).toHaveLength(1);
  commits[0]?.end.resolve();
  await Promise.all(first);
  expect(commits[1]?.works).toHaveLength(2);
  begin();
  commits[1]?.end.resolve();
  await Promise.all([...second, all]);
  expect(order).toEqual(['a', 'b', 'c', 'd']);
});

it('lets the next part of a bulk share the commit of what waited for the part before', async () => {
  const { commits, start, begin } = database();
  const queue = new Commits(start, async (error) => error);
  const order: string[] = [];
  const run = (name: string) => queue.run(() => order.push(name));
  const first = run('part 1');
  begin();
  const small = run('small');
  const second = first.then(() => run('part 2'));
  commits[0]?.end.resolve();
  await first;
  await turn();
  expect(commits).toHaveLength(2);
  begin();
  commits[1]?.end.resolve();
  await Promise.all([small, second]);
  expect(order).toEqual(['part 1', 'small', 'part 2']);
});

it('does what waited for one part of a bulk before the next part, which waits no longer than that', async () => {
  const { commits, start, begin } = database();
  const queue = new Commits(start, async (error) => error);
  const order: string[] = [];
  const run = (name: string, isPart = false) => queue.run(() => order.push(name), isPart);
  const first = run('part 1', true);
  begin();
  const small = run('small');
  const second = first.then(() => run('part 2', true));
  commits[0]?.end.resolve();
  await first;
  await turn();
  expect(commits[1]?.works).toHaveLength(1);
  begin();
  const later = run('later');
  commits[1]?.end.resolve();
  await small;
  await turn();
  expect(commits[2]?.works).toHaveLength(2);
  begin();
  commits[2]?.end.resolve();
  await Promise.all([second, later]);
  expect(order).toEqual(['part 1', 'small', 'part 2', 'later']);
});

it('begins nothing before it is known what a failure means', async () => {
  const { commits, start, begin } = database();
  const verdict = deferred<void>();
  const queue = new Commits(start, async (error) => {
    await verdict.promise;
    return new Error(`understood: ${String(error)}`);
  });
  const first = queue.run(() => 1);
  begin();
  const second = queue.run(() => 2);
  commits[0]?.end.reject('broken');
  await turn();
  expect(commits).toHaveLength(1);
  verdict.resolve();
  await expect(first).rejects.toThrow('understood: broken');
  expect(commits).toHaveLength(2);
  begin();
  commits[1]?.end.resolve();
  await expect(second).resolves.toBe(2);
});
