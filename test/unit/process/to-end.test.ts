// Small programs of the system, run to their end.

import { afterAll, expect, test } from 'vitest';
import { createChildren } from '../../../src/children/spawn.ts';
import { runsToEnd } from '../../../src/process/to-end.ts';

const ENV = { PATH: '/usr/bin:/bin' };
const children = createChildren();
afterAll(() => children.close());
const sh = (line: string): [string, ...string[]] => ['/bin/sh', '-c', line];

test('the code and what it said on both streams is kept', async () => {
  const ended = await runsToEnd(children)(sh('echo out; echo err >&2; exit 3'), '/', ENV);
  expect(ended).toEqual({ code: 3, output: 'out\nerr\n' });
});

test('of what is said without end a part is kept', async () => {
  const { code, output } = await runsToEnd(children)(sh('head -c 10000000 /dev/zero'), '/', ENV);
  expect(code).toBe(0);
  expect(output.length).toBeLessThan(1_000_000);
});

test('it is found again by its mark, and has none of our open files', async () => {
  const line = 'tr "\\0" "\\n" < /proc/self/environ; for each in /proc/$$/fd/*; do readlink "$each"; done';
  const { output } = await runsToEnd(children)(sh(line), '/', ENV);
  expect(output).toMatch(/^HEDDLE_CHILD=/m);
  expect(output).not.toMatch(/\.mdb/);
});

test('it ends with whoever asked', async () => {
  const asker = new AbortController();
  const ended = runsToEnd(children, asker.signal)(sh('kill -STOP $$; sleep 60'), '/', ENV);
  setImmediate(() => asker.abort());
  const outcome = await ended.then(
    ({ code }) => code,
    () => 'not begun',
  );
  expect([null, 'not begun']).toContain(outcome);
});

test('one that is not there is an error', async () => {
  await expect(runsToEnd(children)(['/bin/no-such-program'], '/', ENV)).rejects.toMatchObject({ kind: 'notFound' });
});
