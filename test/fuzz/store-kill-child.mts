// Appends without end to several threads and prints what has been acknowledged.

import { writeSync } from 'node:fs';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import type { EventToStore, ThreadStore } from '../../src/history/store.ts';
import { span } from '../../src/model/event.ts';
import {
  answer,
  at,
  contextAdded,
  delta,
  itemCompleted,
  itemStarted,
  threadMeta,
  turnCompleted,
  turnStarted,
} from '../harness/history-events.ts';

const [directory, round] = process.argv.slice(2) as [string, string];
const say = (what: object) => writeSync(1, `${JSON.stringify(what)}\n`);

/** More than goes with the end of a turn. */
const PIECES = 300;

/** One turn in four appends; some values are long enough for a file of their own, some streams for more than one removal. */
function steps(turnId: string, turn: number): EventToStore[][] {
  const text = `${turnId} `.repeat(turn % 5 === 4 ? 15_000 : 10);
  return [
    at(turn, turnStarted(turnId), contextAdded(turnId, turnId), itemStarted(turnId, answer(`${turnId}-a`))),
    at(turn, delta(turnId, `${turnId}-a`, 'one', 'two')),
    at(turn, ...Array.from({ length: turn % 7 === 3 ? PIECES : 1 }, () => delta(turnId, `${turnId}-a`, 'three'))),
    at(turn, itemCompleted(turnId, answer(`${turnId}-a`, text)), turnCompleted(turnId)),
  ];
}

async function work(store: ThreadStore, id: string): Promise<void> {
  let head = await store.create(threadMeta(id), []);
  say({ id, head, key: null });
  for (let turn = 0; ; turn += 1)
    for (const [step, events] of steps(`${id}-u${turn}`, turn).entries()) {
      const key = step === 0 ? `${id}-${turn}` : null;
      const once = key === null ? undefined : { key, method: 'turn/start', fingerprint: 'f', reply: '{}' };
      head = await store.append(id, head, events, once);
      say({ id, head, key, isEnd: step === 3, spans: events.map(({ event }) => span(event)) });
    }
}

async function main(): Promise<void> {
  const history = await openLmdbHistory({ directory, log: silentLog() });
  const store = history.forTenant('local');
  await Promise.all(['a', 'b', 'c'].map((name) => work(store, `${round}-${name}`)));
}

void main();
