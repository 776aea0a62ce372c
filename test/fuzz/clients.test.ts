// Random clients on one thread: whatever they do, and whenever the server stops, the log they are shown stays well formed.

import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { fc, SEED } from '../harness/chance.ts';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import { type Received, RequestFailed, type TestClient } from '../harness/test-client.ts';
import { startThread, text } from '../harness/turns.ts';

const RUNS = Number(process.env.HEDDLE_RUNS ?? 12);

afterEach(cleanUp);

const SCRIPTS = [
  'say one two three',
  'think a while\nsay 300 words',
  'run echo x',
  'run! echo x',
  'run! echo a\nrun! echo b',
  'run printf a; sleep 0.02; printf b',
  'run sleep 30',
  'hang',
  'fail',
  'say half\nfail cut',
] as const;

const pick = fc.nat({ max: 1 });
const act = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('start'), who: pick, script: fc.constantFrom(...SCRIPTS) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('steer'), who: pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('interrupt'), who: pick }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('answer'),
      who: pick,
      decision: fc.constantFrom('accept', 'acceptForSession', 'decline', 'cancel', 'nonsense'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rejoin'), who: pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait'), who: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rollback'), who: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('archive'), who: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill') }) },
);
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

class Session {
  server: RunningApp;
  readonly threadId: string;
  clients: TestClient[] = [];

  constructor(server: RunningApp, threadId: string) {
    this.server = server;
    this.threadId = threadId;
  }

  async join(): Promise<void> {
    this.clients = [await this.server.connect(), await this.server.connect()];
    for (const client of this.clients) await this.#resume(client);
  }

  async perform(action: Act): Promise<void> {
    const { threadId } = this;
    const client = this.clients['who' in action ? action.who : 0]!;
    switch (action.do) {
      case 'start':
        await tried(client.request('turn/start', { threadId, input: text((action as { script: string }).script) }));
        return;
      case 'steer':
        await tried(
          client.request('turn/steer', { threadId, expectedTurnId: latestTurn(client), input: text('say more') }),
        );
        return;
      case 'interrupt':
        await tried(client.request('turn/interrupt', { threadId, turnId: '' }));
        return;
      case 'answer':
        for (const { id } of client.questions())
          client.send({ id, result: { decision: (action as { decision: string }).decision } });
        await client.settled();
        return;
      case 'rejoin': {
        client.wire.cut();
        const again = await this.server.connect();
        this.clients[(action as { who: number }).who] = again;
        await this.#resume(again);
        return;
      }
      case 'wait':
        for (let round = 0; round < 20; round += 1) await client.settled();
        return;
      case 'rollback':
        await tried(client.request('thread/rollback', { threadId, numTurns: 1 }));
        return;
      case 'archive':
        await tried(client.request('thread/archive', { threadId }));
        await tried(client.request('thread/unarchive', { threadId }));
        for (const each of this.clients) await this.#resume(each);
        return;
      case 'restart':
        await this.server.restart();
        await this.join();
        return;
      case 'kill':
        // What runs must not write while its disk is copied.
        await tried(client.request('turn/interrupt', { threadId, turnId: '' }));
        for (let round = 0; round < 20; round += 1) await client.settled();
        this.server = await this.server.afterKill();
        await this.join();
    }
  }

  async end(): Promise<TestClient> {
    const client = await this.server.connect();
    await this.#resume(client);
    const { thread } = await client.request('thread/read', { threadId: this.threadId });
    await tried(client.request('turn/interrupt', { threadId: this.threadId, turnId: '' }));
    if (thread.status.type === 'active') await client.notified('turn/completed');
    await client.settled();
    return client;
  }

  async #resume(client: TestClient): Promise<void> {
    await client.request('thread/resume', { threadId: this.threadId, excludeTurns: true });
  }
}

/** A refusal is an answer too, unless it is a defect. */
async function tried(request: Promise<unknown>): Promise<void> {
  await request.catch((error: unknown) => {
    if (!(error instanceof RequestFailed) || error.data.kind === 'internal') throw error;
  });
}

const latestTurn = (client: TestClient): string => client.news('turn/started').at(-1)?.turn.id ?? 'none';

async function allEvents(client: TestClient, threadId: string): Promise<Received[]> {
  const events: Received[] = [];
  for (let after = 0; ; ) {
    const page = await client.request('thread/read', { threadId, afterEventSeq: after });
    events.push(...page.events);
    if (page.nextSeq === page.headSeq) return events;
    after = page.nextSeq;
  }
}

/** Turns and items begin once and end once, items inside their turns, and places only grow. */
function checkLog(events: readonly Received[]): void {
  const turns = new Map<string, 'open' | 'ended'>();
  const items = new Map<string, 'open' | 'ended'>();
  let place = 0;
  for (const { seq, method, params } of events) {
    expect(seq).toBeGreaterThanOrEqual(place);
    place = seq;
    if (method === 'turn/started') {
      expect([...turns.values()]).not.toContain('open');
      expect(turns.has(params.turn.id)).toBe(false);
      turns.set(params.turn.id, 'open');
    } else if (method === 'turn/completed') {
      expect(turns.get(params.turn.id)).toBe('open');
      turns.set(params.turn.id, 'ended');
      expect([...items.values()]).not.toContain('open');
    } else if (method === 'item/started') {
      expect(turns.get(params.turnId), `${params.item.type} outside its turn`).toBe('open');
      expect(items.has(params.item.id)).toBe(false);
      items.set(params.item.id, 'open');
    } else if (method === 'item/completed') {
      expect(turns.get(params.turnId), `${params.item.type} ends outside its turn`).toBe('open');
      expect(items.get(params.item.id), `${params.item.type} ends without a beginning`).toBe('open');
      items.set(params.item.id, 'ended');
    }
  }
  expect([...turns.values()]).not.toContain('open');
  expect([...items.values()]).not.toContain('open');
}

/** What a client was told is what the log holds, in its order. */
function checkTold(client: TestClient, events: readonly Received[]): void {
  const isKept = ({ method }: Received) => !/[dD]elta$/.test(method);
  const told = client.notifications().filter((each) => each.seq !== undefined && isKept(each));
  const [first] = told;
  if (!first) return;
  const held = events.filter((each) => isKept(each) && each.seq >= first.seq && each.seq <= told.at(-1)!.seq);
  // A turn that was taken back since is told again without its last message.
  const plain = ({ seq, method, params }: Received) =>
    method === 'turn/completed'
      ? { seq, method, status: params.turn.status, id: params.turn.id }
      : { seq, method, params };
  expect(told.map(plain)).toEqual(held.map(plain));
}

test(`random clients leave a well-formed thread (seed ${SEED}, ${RUNS} runs)`, { timeout: 600_000 }, async () => {
  const acts = fc.array(act, { minLength: 3, maxLength: 25 });
  await fc.assert(
    fc.asyncProperty(acts, fc.boolean(), async (actions, isAsked) => {
      const faults: string[] = [];
      const log = pino({ level: 'error' }, { write: (line) => void faults.push(line) });
      const server = await startApp({ log });
      const approvalPolicy = isAsked ? 'untrusted' : 'on-request';
      const first = await server.connect();
      const threadId = await startThread(first, { sandbox: 'danger-full-access', approvalPolicy });
      const session = new Session(server, threadId);
      await session.join();
      for (const action of actions) await session.perform(action as Act);
      const last = await session.end();
      const events = await allEvents(last, threadId);
      checkLog(events);
      for (const client of session.clients) {
        await client.settled();
        checkTold(client, events);
      }
      expect(faults).toEqual([]);
      await cleanUp();
    }),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
});
