// One look for many: each gets one that began after its question, with all that it is about.

import { expect, it } from 'vitest';
import { type Deferred, deferred } from '../../../src/base/signals.ts';
import type { Look, MarkSearch, RunningProcess } from '../../../src/children/processes.ts';
import { createSharedLook } from '../../../src/children/shared-look.ts';

function looking() {
  const searches: MarkSearch[] = [];
  const answers: Deferred<Look>[] = [];
  const lookFor = createSharedLook('family.', (search) => {
    searches.push(search);
    const answer = deferred<Look>();
    answers.push(answer);
    return answer.promise;
  });
  return { searches, answers, lookFor };
}

const one = (mark: string): RunningProcess => ({
  pid: 1,
  parent: 1,
  group: 1,
  session: 1,
  started: '1',
  name: '',
  mark,
});
const seen = (isWhole: boolean): Look => ({ all: [], isWhole });

it('is shared by all who asked before it began; who asks meanwhile gets the next', async () => {
  const { searches, answers, lookFor } = looking();
  const first = lookFor({ prefix: 'family.1', since: '50' });
  const others = [lookFor({ prefix: 'family.2', since: '9' }), lookFor({ prefix: 'family.3', since: '10' })];
  expect(searches).toEqual([{ prefix: 'family.', since: '50' }]);
  answers[0]!.resolve(seen(true));
  expect(await first).toEqual(seen(true));
  await new Promise(setImmediate);
  expect(searches[1]).toEqual({ prefix: 'family.', since: '9' });
  answers[1]!.resolve(seen(false));
  expect(await Promise.all(others)).toEqual([seen(false), seen(false)]);
  await new Promise(setImmediate);
  expect(searches).toHaveLength(2);
});

it('looks at all processes if one tree does not know when it began, and tells each of its own', async () => {
  const { searches, answers, lookFor } = looking();
  void lookFor({ prefix: 'family.0' });
  const met: string[] = [];
  void lookFor({ prefix: 'family.1', met: () => void met.push('1') });
  void lookFor({ prefix: 'family.2', since: '3', met: () => void met.push('2') });
  answers[0]!.resolve(seen(true));
  await new Promise(setImmediate);
  expect(searches.map(({ since }) => since)).toEqual([undefined, undefined]);
  for (const mark of ['family.2', 'family.3', 'family.1']) searches[1]!.met?.(one(mark));
  expect(met).toEqual(['2', '1']);
});

it('that fails has seen nothing, and the next one is tried', async () => {
  const { answers, lookFor } = looking();
  const first = lookFor({ prefix: 'family.1' });
  answers[0]!.reject(new Error('too many open files'));
  expect(await first).toEqual(seen(false));
  await new Promise(setImmediate);
  const second = lookFor({ prefix: 'family.1' });
  answers[1]!.resolve(seen(true));
  expect(await second).toEqual(seen(true));
});
