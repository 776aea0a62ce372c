// Random commands against a plain model of the log: whatever happens, the store says what the model says.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import { openMemoryHistory } from '../../src/history/memory.ts';
import type { EventToStore, History, ThreadStore } from '../../src/history/store.ts';
import { verifyHistory } from '../../src/history/verify.ts';
import type { ContextItem } from '../../src/model/context.ts';
import { span, type ThreadEvent } from '../../src/model/event.ts';
import { fc, SEED } from '../harness/chance.ts';
import {
  answer,
  contextAdded,
  delta,
  itemCompleted,
  itemStarted,
  question,
  threadMeta,
  turnCompleted,
  turnStarted,
} from '../harness/history-events.ts';

const RUNS = Number(process.env.HEDDLE_RUNS ?? 25);

interface Logged extends EventToStore {
  readonly seq: number;
}

/** All events ever appended; everything else is worked out from them when it is asked for. */
class ModelThread {
  readonly all: Logged[] = [];
  head = 0;

  append(events: readonly EventToStore[]): void {
    for (const { atMs, event } of events) {
      if (span(event) === 0) continue;
      this.all.push({ seq: this.head + 1, atMs, event });
      this.head += span(event);
    }
  }

  get #reverted(): ReadonlySet<string> {
    return new Set(this.#of('turnsReverted').flatMap(({ event }) => event.turnIds));
  }

  #of<T extends ThreadEvent['type']>(type: T) {
    return this.all.filter((logged) => logged.event.type === type) as (Logged & {
      event: Extract<ThreadEvent, { type: T }>;
    })[];
  }

  get events(): { seq: number; type: string }[] {
    const over = new Set([...this.#of('turnCompleted').map(({ event }) => event.turnId), ...this.#reverted]);
    return this.all
      .filter(({ event }) => event.type !== 'delta' || !over.has(event.turnId))
      .map(({ seq, event }) => ({ seq, type: event.type }));
  }

  get turns(): { id: string; seq: number; status: string }[] {
    const ends = new Map(this.#of('turnCompleted').map(({ event }) => [event.turnId, event.status]));
    return this.#of('turnStarted')
      .filter(({ event }) => !this.#reverted.has(event.turnId))
      .map(({ seq, event }) => ({ id: event.turnId, seq, status: ends.get(event.turnId) ?? 'inProgress' }));
  }

  get items(): { seq: number; turnId: string; id: string; text: string }[] {
    const rows = new Map<string, { seq: number; turnId: string; id: string; text: string }>();
    for (const { seq, event } of this.all) {
      if (event.type !== 'itemStarted' && event.type !== 'itemCompleted') continue;
      const text = event.item.type === 'agentMessage' ? event.item.text : 'question';
      const { id } = event.item;
      rows.set(id, { seq: rows.get(id)?.seq ?? seq, turnId: event.turnId, id, text });
    }
    return [...rows.values()].filter(({ turnId }) => !this.#reverted.has(turnId));
  }

  get context(): ContextItem[] {
    const added = this.#of('contextAdded').filter(({ event }) => !this.#reverted.has(event.turnId));
    return added.flatMap(({ event }) => event.items);
  }

  get name(): string | null {
    return this.#of('threadNamed').at(-1)?.event.name ?? null;
  }

  get updatedAtMs(): number {
    const touching = this.all.filter(({ event }) => event.type === 'turnStarted' || event.type === 'turnCompleted');
    return touching.at(-1)?.atMs ?? 1000;
  }
}

type Command =
  | { readonly kind: 'create'; readonly thread: number }
  | {
      readonly kind: 'turn';
      readonly thread: number;
      readonly atMs: number;
      readonly size: number;
      readonly ends: boolean;
    }
  | { readonly kind: 'stream'; readonly thread: number; readonly parts: string[]; readonly ends: boolean }
  | { readonly kind: 'revert'; readonly thread: number; readonly turns: number }
  | { readonly kind: 'name'; readonly thread: number; readonly name: string | null }
  | { readonly kind: 'remove'; readonly thread: number }
  | { readonly kind: 'stale'; readonly thread: number; readonly by: number };

const thread = fc.integer({ min: 0, max: 3 });
const atMs = fc.integer({ min: 1000, max: 1010 });
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), thread }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      thread,
      atMs,
      size: fc.constantFrom(0, 10, 30_000, 70_000),
      ends: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('stream' as const),
      thread,
      parts: fc.array(fc.string(), { maxLength: 6 }),
      ends: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('revert' as const), thread, turns: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('name' as const), thread, name: fc.constantFrom('x', null) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), thread }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stale' as const), thread, by: fc.constantFrom(-1, 1, 5) }) },
);

class Run {
  readonly model = new Map<string, ModelThread>();
  #turns = 0;

  /** What the command means now; undefined: nothing. */
  eventsOf(each: Command, thread: ModelThread): EventToStore[] | undefined {
    const open = thread.turns.filter(({ status }) => status === 'inProgress').at(-1)?.id;
    const stamp = (at: number, events: ThreadEvent[]) => events.map((event) => ({ atMs: at, event }));
    switch (each.kind) {
      case 'turn': {
        this.#turns += 1;
        const id = `u${this.#turns}`;
        const text = String(this.#turns % 10).repeat(each.size);
        return stamp(each.atMs, [
          ...(open ? [turnCompleted(open, { status: 'interrupted' })] : []),
          turnStarted(id),
          itemStarted(id, question(`${id}-q`)),
          contextAdded(id, text),
          itemStarted(id, answer(`${id}-a`)),
          ...(each.ends ? [itemCompleted(id, answer(`${id}-a`, text)), turnCompleted(id)] : []),
        ]);
      }
      case 'stream':
        if (open === undefined) return undefined;
        return stamp(1500, [
          delta(open, `${open}-a`, ...each.parts),
          ...(each.ends ? [itemCompleted(open, answer(`${open}-a`, each.parts.join(''))), turnCompleted(open)] : []),
        ]);
      case 'revert': {
        const turnIds = thread.turns.slice(-each.turns).map(({ id }) => id);
        if (turnIds.length === 0) return undefined;
        return stamp(1, [{ type: 'turnsReverted', firstTurnId: turnIds[0] as string, turnIds }]);
      }
      case 'name':
        return stamp(1, [{ type: 'threadNamed', name: each.name }]);
      default:
        return undefined;
    }
  }

  async apply(store: ThreadStore, each: Command): Promise<void> {
    const id = `t${each.thread}`;
    const known = this.model.get(id);
    if (each.kind === 'create') return this.#create(store, id);
    if (known === undefined) {
      await expect(store.append(id, 0, [])).rejects.toMatchObject({ kind: 'notFound' });
    } else if (each.kind === 'remove') {
      await store.remove(id);
      this.model.delete(id);
    } else if (each.kind === 'stale') {
      const late = [{ atMs: 1, event: turnStarted('never') }];
      await expect(store.append(id, known.head + each.by, late)).rejects.toMatchObject({ kind: 'conflict' });
    } else {
      const events = this.eventsOf(each, known);
      if (events === undefined) return;
      const before = known.head;
      known.append(events);
      expect(await store.append(id, before, events)).toBe(known.head);
    }
  }

  async #create(store: ThreadStore, id: string): Promise<void> {
    const meta = threadMeta(id);
    if (this.model.has(id)) {
      await expect(store.create(meta, [])).rejects.toMatchObject({ kind: 'conflict' });
      return;
    }
    const created = new ModelThread();
    created.append([{ atMs: 1000, event: { type: 'threadCreated', meta } }]);
    this.model.set(id, created);
    expect(await store.create(meta, [])).toBe(1);
  }

  async check(store: ThreadStore): Promise<void> {
    for (const [id, known] of this.model) await checkThread(store, id, known);
    const listed = [...this.model].filter(([, { turns, name }]) => turns.length > 0 || name !== null);
    listed.sort(([a, x], [b, y]) => x.updatedAtMs - y.updatedAtMs || (a < b ? -1 : 1));
    const threads = await store.threads({ archived: false, sortKey: 'updatedAt', direction: 'asc', limit: 100 });
    expect(threads.rows.map(({ id }) => id)).toEqual(listed.map(([id]) => id));
    const open = [...this.model].flatMap(([threadId, { turns }]) =>
      turns.filter(({ status }) => status === 'inProgress').map(({ id, seq }) => ({ threadId, turnId: id, seq })),
    );
    expect(await store.openTurns()).toEqual(open.sort((a, b) => (a.threadId < b.threadId ? -1 : 1)));
  }
}

async function checkThread(store: ThreadStore, id: string, known: ModelThread): Promise<void> {
  expect(await store.head(id)).toBe(known.head);
  expect(await store.meta(id)).toMatchObject({
    turnCount: known.turns.length,
    name: known.name,
    updatedAtMs: known.updatedAtMs,
  });
  for (const limit of [3, 1000]) {
    const events: { seq: number; type: string }[] = [];
    for (let after = 0; ; ) {
      const page = await store.events(id, after, limit);
      const last = page.at(-1);
      if (last === undefined) break;
      events.push(...page.map(({ seq, event }) => ({ seq, type: event.type })));
      after = last.seq + span(last.event) - 1;
    }
    expect(events).toEqual(known.events);
  }
  const turns = await store.turns(id, { direction: 'desc', limit: 1000 });
  expect(turns.rows.map(({ id: turnId, seq, status }) => ({ id: turnId, seq, status })).reverse()).toEqual(known.turns);
  const items = await store.items(id, { direction: 'asc', limit: 1000 });
  const seen = items.rows.map(({ seq, turnId, item }) => ({
    seq,
    turnId,
    id: item.id,
    text: item.type === 'agentMessage' ? item.text : 'question',
  }));
  expect(seen).toEqual(known.items);
  expect(await store.context(id)).toEqual(known.context);
}

const commands = fc.array(command, { minLength: 5, maxLength: 40 });

it(`says what a model of the log says (HEDDLE_SEED=${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(commands, async (all) => {
      const directory = await mkdtemp(join(tmpdir(), 'heddle-model-'));
      const open = (): Promise<History> => openLmdbHistory({ directory, log: silentLog() });
      let lmdb = await open();
      const memory = openMemoryHistory();
      try {
        const runs: [Run, () => ThreadStore][] = [
          [new Run(), () => memory.forTenant('local')],
          [new Run(), () => lmdb.forTenant('local')],
        ];
        for (const [run, store] of runs) {
          for (const each of all) await run.apply(store(), each);
          await run.check(store());
        }
        await lmdb.close();
        lmdb = await open();
        for (const [run, store] of runs) await run.check(store());
        expect(await verifyHistory(directory)).toMatchObject({ damages: [] });
      } finally {
        await memory.close();
        await lmdb.close();
        await rm(directory, { recursive: true });
      }
    }),
    { numRuns: RUNS, seed: SEED },
  );
});
