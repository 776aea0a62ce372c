// The mark in a limit: which limit that is, that it is there for one start only, and that its want is said once and stops nothing.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Log, silentLog } from '../../../src/base/log.ts';
import { createLimitMark, libraryOfCalls, type SystemLimit } from '../../../src/children/limit.ts';
import { createMarks, limitOf, markInLimits } from '../../../src/children/marks.ts';

const UNLIMITED = 2n ** 64n - 1n;

/** As the system writes it. */
const table = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \n${''}Max realtime priority     0                    0                    \nMax realtime timeout      ${soft.padEnd(21)}unlimited            us        \n`;

const tableOf = (soft: bigint): string => table(soft === UNLIMITED ? 'unlimited' : String(soft));

describe('a mark', () => {
  it('is found in the limit that it is', () => {
    const marks = createMarks();
    const mark = marks.next();
    expect(mark.startsWith(marks.family)).toBe(true);
    for (const prefix of [marks.family, mark]) expect(markInLimits(tableOf(limitOf(mark)!), prefix)).toBe(mark);
  });

  it('is none of another child and none of another family', () => {
    const [one, other] = [createMarks(), createMarks()];
    const [mark, next] = [one.next(), one.next()];
    expect(mark).not.toBe(next);
    expect(markInLimits(tableOf(limitOf(mark)!), next)).toBeUndefined();
    expect(markInLimits(tableOf(limitOf(mark)!), other.family)).toBeUndefined();
  });

  it.each(['unlimited', '0', '200000', '-1', '', '18446744073709551615'])('is not in the limit %j', (soft) => {
    const { family } = createMarks();
    expect(markInLimits(table(soft), family)).toBeUndefined();
  });

  it('is not in a table of another kind, and no limit if it is not of our kind', () => {
    const { family } = createMarks();
    expect(markInLimits('', family)).toBeUndefined();
    expect(markInLimits(tableOf(4n << 60n), '')).toBeUndefined();
    for (const mark of [family, 'no such mark', '']) expect(limitOf(mark)).toBeUndefined();
  });
});

/** A system in small: its soft and hard limit, and the table that it would show. */
function systemOf({ soft = UNLIMITED, hard = UNLIMITED, shows = true } = {}) {
  const now = { soft, hard };
  const system: SystemLimit = {
    get(both) {
      both.set([now.soft, now.hard]);
      return true;
    },
    set([soft = 0n, hard = 0n]) {
      if (soft > hard || hard > now.hard) return false;
      Object.assign(now, { soft, hard });
      return true;
    },
  };
  return { now, load: () => system, limits: () => tableOf(shows ? now.soft : UNLIMITED) };
}

/** Starts programs until the helper does, and tells how many processes were parents, and what was warned of. */
const REFUSED = `
  import { text } from 'node:stream/consumers';
  import { createChildren } from ${JSON.stringify(new URL('../../../src/children/spawn.ts', import.meta.url).href)};
  const warned = [];
  const log = { debug() {}, info() {}, error() {}, warn: ({ reason }) => warned.push(reason) };
  const children = createChildren(log);
  const spec = { argv: ['bash', '-c', 'echo $PPID'], cwd: '/', env: { PATH: '/usr/bin:/bin' }, stdin: 'none', output: 'merged' };
  const parents = new Set();
  while (parents.size < 2)
    parents.add(await text((await children.start(spec, new AbortController().signal)).stdout));
  await children.close();
  console.log(JSON.stringify({ parents: parents.size, warned }));
`;

const hasPrlimit = libraryOfCalls() !== undefined && spawnSync('prlimit', ['--version']).status === 0;
if (!hasPrlimit)
  console.warn('SKIPPED: starts where the system refuses the mark need prlimit of util-linux, and koffi');

function listening() {
  const warned: unknown[] = [];
  const log: Log = { ...silentLog(), warn: (about) => void warned.push((about as { reason: string }).reason) };
  return { log, warned };
}

describe('a start', () => {
  it.each([UNLIMITED, 5n])('has the mark as its soft limit, and what was there, %s, comes back', (soft) => {
    const { now, load, limits } = systemOf({ soft });
    const { log, warned } = listening();
    const mark = createMarks().next();
    const limitMark = createLimitMark(log, load, limits);
    expect(limitMark.around(mark, () => ({ ...now }))).toEqual({ soft: limitOf(mark), hard: UNLIMITED });
    expect(now).toEqual({ soft, hard: UNLIMITED });
    expect(() =>
      limitMark.around(mark, () => {
        throw new Error('no such program');
      }),
    ).toThrow('no such program');
    expect(now).toEqual({ soft, hard: UNLIMITED });
    expect(warned).toEqual([]);
  });

  const missing = () => {
    throw new Error('no library here');
  };
  it.each([
    ['the library is missing', { ...systemOf(), load: missing }, 'no library here'],
    ['the hard limit is lower', systemOf({ hard: 200_000n, soft: 200_000n }), 'the limit cannot be set'],
    ['the limit is not shown', systemOf({ shows: false }), 'the limit cannot be set'],
  ])('happens all the same where %s, which is said once', (_, { now, load, limits }, reason) => {
    const { log, warned } = listening();
    const before = { ...now };
    const limitMark = createLimitMark(log, load, limits);
    const marks = createMarks();
    for (const mark of [marks.next(), marks.next()]) expect(limitMark.around(mark, () => ({ ...now }))).toEqual(before);
    limitMark.missing('of somebody else');
    expect(warned).toEqual([reason]);
    expect(now).toEqual(before);
  });

  it.skipIf(!hasPrlimit)('happens all the same by the process and by the helper where the system refuses it', () => {
    const args = [
      '--rttime=1000000:1000000',
      process.execPath,
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      REFUSED,
    ];
    const { parents, warned } = JSON.parse(execFileSync('prlimit', args, { encoding: 'utf8' }));
    expect(parents).toBe(2);
    expect(warned).toEqual(['the limit cannot be set']);
  });

  it('of a mark that fits no limit loads nothing', () => {
    const { log, warned } = listening();
    expect(createLimitMark(log, missing).around('other', () => 1)).toBe(1);
    expect(warned).toEqual([]);
  });

  it.skipIf(libraryOfCalls() === undefined)('has it in the system itself, and nothing else has', () => {
    const { log, warned } = listening();
    const mark = createMarks().next();
    const limitMark = createLimitMark(log);
    const limits = () => execFileSync('/bin/cat', ['/proc/self/limits'], { encoding: 'latin1' });
    const own = () => readFileSync('/proc/self/limits', 'latin1');
    const before = own();
    expect(markInLimits(limitMark.around(mark, limits), mark)).toBe(mark);
    expect([markInLimits(limits(), mark), own()]).toEqual([undefined, before]);
    expect(warned).toEqual([]);
  });
});
