// Gathering changes: together, bounded, at the pace of whoever is told, and never silently incomplete.

import { expect, test } from 'vitest';
import { deferred } from '../../../src/base/signals.ts';
import { Changes, GATHER_MS, MAX_PATHS } from '../../../src/fs/changes.ts';
import { ManualClock } from '../transports/manual-clock.ts';

function gathering(hasRoom: () => Promise<void> = async () => {}) {
  const clock = new ManualClock();
  const told: { readonly paths: readonly string[]; readonly rescan: boolean }[] = [];
  const changes = new Changes({ clock, hasRoom, tell: (paths, rescan) => told.push({ paths, rescan }) });
  return { clock, told, changes };
}
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('what comes within a moment is told once, sorted', async () => {
  const { clock, told, changes } = gathering();
  for (const path of ['/b', '/a', '/b']) changes.add(path);
  clock.advance(GATHER_MS - 1);
  expect(told).toEqual([]);
  clock.advance(1);
  await turn();
  changes.add('/c');
  clock.advance(GATHER_MS);
  await turn();
  expect(told).toEqual([
    { paths: ['/a', '/b'], rescan: false },
    { paths: ['/c'], rescan: false },
  ]);
});

test('too many are told as a rescan, and count again afterwards', async () => {
  const { clock, told, changes } = gathering();
  for (let index = 0; index <= MAX_PATHS + 5; index += 1) changes.add(`/${index}`);
  clock.advance(GATHER_MS);
  await turn();
  changes.add('/after');
  clock.advance(GATHER_MS);
  await turn();
  expect(told).toEqual([
    { paths: [], rescan: true },
    { paths: ['/after'], rescan: false },
  ]);
});

test('who takes nothing is told everything later, at once', async () => {
  const room = deferred();
  const { clock, told, changes } = gathering(() => room.promise);
  changes.add('/a');
  clock.advance(GATHER_MS);
  changes.add('/b');
  clock.advance(GATHER_MS * 10);
  await turn();
  expect(told).toEqual([]);
  room.resolve();
  await turn();
  expect(told).toEqual([{ paths: ['/a', '/b'], rescan: false }]);
});

test('after the close nothing is told', async () => {
  const { clock, told, changes } = gathering();
  changes.add('/a');
  changes.close();
  clock.advance(GATHER_MS);
  changes.rescan();
  clock.advance(GATHER_MS);
  await turn();
  expect(told).toEqual([]);
});
