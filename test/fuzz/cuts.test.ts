// Clients whose wires break after any byte: whoever comes back behind the last event, or for a snapshot, ends with what the others have.

import { afterEach, expect, test } from 'vitest';
import { localPrincipal } from '../../src/auth/principal.ts';
import { deferred } from '../../src/base/signals.ts';
import { SEED } from '../harness/chance.ts';
import { CUT_TRANSPORTS, type CutDialer, type CutTransport, cutDialer, type Reach } from '../harness/cut-wires.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { type Received, RequestFailed, TestClient } from '../harness/test-client.ts';
import { Picture } from '../harness/thread-picture.ts';
import { startThread, text } from '../harness/turns.ts';

/** Of each transport. */
const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 1);
const CUT_CLIENTS = 3;
const TURNS = 6;
const WHOLE: Reach = { toServer: Number.POSITIVE_INFINITY, toClient: Number.POSITIVE_INFINITY };

afterEach(cleanUp);

type Random = (below: number) => number;

function random(seed: number): Random {
  let state = seed | 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
}

const SCRIPTS = [
  'say one two three',
  'say 120 words at 400 a second',
  'think 40 words at 400 a second\nsay 60 words at 400 a second',
  'run echo x; echo y',
  'run! echo asked',
  'run printf a; sleep 0.02; printf b\nsay done',
  'say half\nfail cut',
  'fail',
];

/** A request that a client repeats, over as many connections as it takes, until it is answered. */
interface Wish {
  readonly key: string;
  readonly name: string;
  isAnswered: boolean;
}

/** A client that is cut off again and again. */
class Unlucky {
  readonly picture = new Picture();
  readonly wishes: Wish[] = [];
  cuts = 0;
  readonly #threadId: string;
  readonly #name: string;
  readonly #random: Random;

  constructor(threadId: string, name: string, random: Random) {
    this.#threadId = threadId;
    this.#name = name;
    this.#random = random;
  }

  async live(dialer: CutDialer, over: Promise<void>, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const client = await this.#connect(dialer, this.#reach());
      if (client === undefined) continue;
      const wished = this.#wish(client);
      await Promise.race([client.wire.closed, over]);
      client.wire.cut();
      await client.wire.closed;
      await wished;
      this.#read(client);
    }
  }

  /** Once more over a whole wire, until everything up to `last` has come. */
  async end(dialer: CutDialer, last: number): Promise<void> {
    const client = (await this.#connect(dialer, WHOLE)) as TestClient;
    const isThere = this.picture.place === undefined ? true : this.picture.place >= last;
    if (!isThere) await client.message((each) => each.seq >= last, 'the last event');
    await client.settled();
    this.#read(client);
    client.wire.end();
  }

  /** Undefined: it was cut off before the answer to its resume. */
  async #connect(dialer: CutDialer, reach: Reach): Promise<TestClient | undefined> {
    let client: TestClient | undefined;
    try {
      client = new TestClient(await dialer.dial(reach));
      await client.initialize({ name: this.#name });
      const isSnapshot = this.picture.place === undefined || this.#random(4) === 0;
      const behind = { afterEventSeq: this.picture.place, excludeTurns: true };
      const answer = await client.request('thread/resume', { threadId: this.#threadId, ...(isSnapshot ? {} : behind) });
      if (isSnapshot) this.picture.adopt(answer);
      return client;
    } catch (error) {
      if (error instanceof RequestFailed) throw error;
      this.cuts += 1;
      client?.wire.cut();
      await client?.wire.closed;
      // The answer may have come and been lost with what this client knew of it: it asks from the same place again.
      return undefined;
    }
  }

  /** The names of the thread tell afterwards how often it was done. */
  async #wish(client: TestClient): Promise<void> {
    let wish = this.wishes.at(-1);
    if (wish === undefined || wish.isAnswered) {
      const name = `${this.#name} ${this.wishes.length}`;
      wish = { key: `key of ${name}`, name, isAnswered: false };
      this.wishes.push(wish);
    }
    const { key, name } = wish;
    const params = { threadId: this.#threadId, name, idempotencyKey: key };
    await client.request('thread/name/set', params).then(
      () => {
        (wish as Wish).isAnswered = true;
      },
      (error: unknown) => {
        if (error instanceof RequestFailed) throw error;
      },
    );
  }

  #read(client: TestClient): void {
    this.cuts += 1;
    const answer = client.transcript.findIndex((each) => each.result?.thread?.id === this.#threadId);
    const early = client.transcript.slice(0, answer).filter((each) => each.seq !== undefined);
    expect(early, 'events before the answer').toEqual([]);
    for (const each of client.transcript.slice(answer + 1)) this.picture.apply(each);
  }

  #reach(): Reach {
    const any = (): number => this.#random([400, 4_000, 40_000][this.#random(3)] as number);
    return this.#random(5) === 0 ? { ...WHOLE, toServer: any() } : { ...WHOLE, toClient: any() };
  }
}

/** Everybody's turns, one after the other; questions are answered, some turns are steered or interrupted. */
async function traffic(driver: TestClient, threadId: string, random: Random): Promise<void> {
  for (let index = 0; index < TURNS; index += 1) {
    const script = SCRIPTS[random(SCRIPTS.length)] as string;
    const { turn } = await driver.request('turn/start', { threadId, input: text(script) });
    const isEnd = (each: Received) => each.method === 'turn/completed' && each.params.turn.id === turn.id;
    const extra = random(4);
    const also =
      extra === 0
        ? driver.request('turn/steer', { threadId, expectedTurnId: turn.id, input: text('say more words') })
        : extra === 1
          ? driver.request('turn/interrupt', { threadId, turnId: turn.id })
          : Promise.resolve();
    await also.catch((error: unknown) => {
      if (!(error instanceof RequestFailed)) throw error;
    });
    const answered = new Set<number>();
    const isQuestion = (each: Received) => each.method !== undefined && each.id !== undefined && !answered.has(each.id);
    for (;;) {
      const news = await driver.message((each) => isEnd(each) || isQuestion(each), 'the end of a turn');
      if (isEnd(news)) break;
      answered.add(news.id);
      driver.send({ id: news.id, result: { decision: random(2) === 0 ? 'accept' : 'decline' } });
    }
  }
}

/** What the store has, as a client that asks for everything sees it. */
async function stored(client: TestClient, threadId: string) {
  const { thread } = await client.request('thread/read', { threadId, includeTurns: true });
  const picture = new Picture();
  picture.adopt({ thread, headSeq: 0 });
  return picture.state;
}

async function allEvents(client: TestClient, threadId: string): Promise<Received[]> {
  const events: Received[] = [];
  for (let after = 0; ; ) {
    const page = await client.request('thread/read', { threadId, afterEventSeq: after, limit: 1000 });
    events.push(...page.events);
    if (page.nextSeq === page.headSeq) return events;
    after = page.nextSeq;
  }
}

async function round(transport: CutTransport, seed: number): Promise<number> {
  const server = await startApp({ transport });
  const dialer = await cutDialer(server, transport);
  const driver = await server.connectAs(localPrincipal);
  const threadId = await startThread(driver, { sandbox: 'danger-full-access' });
  const witness = await server.connectAs(localPrincipal);
  const whole = new Picture();
  whole.adopt(await witness.request('thread/resume', { threadId }));
  const unlucky = Array.from(
    { length: CUT_CLIENTS },
    (_, index) => new Unlucky(threadId, `client ${index}`, random(seed * 31 + index)),
  );
  const over = deferred<void>();
  let isOver = false;
  const lives = unlucky.map((each) => each.live(dialer, over.promise, () => isOver));
  await traffic(driver, threadId, random(seed));
  isOver = true;
  over.resolve();
  await Promise.all(lives);
  const last = (await allEvents(driver, threadId)).at(-1)?.seq as number;
  for (const each of unlucky) await each.end(dialer, last);
  await witness.message((each) => each.seq === last, 'the last event');
  await witness.settled();
  // A name that was on its way when its wire broke may have been given since.
  const events = await allEvents(driver, threadId);
  for (const each of witness.notifications()) whole.apply(each);
  const inStore = await stored(driver, threadId);
  expect(whole.state).toEqual(inStore);
  whole.check(events);
  for (const { picture, wishes } of unlucky) {
    picture.check(events);
    expect(picture.state).toEqual(inStore);
    for (const { name, isAnswered } of wishes) {
      const times = events.filter(({ params }) => params.threadName === name).length;
      expect(times, name).toBeLessThanOrEqual(1);
      if (isAnswered) expect(times, name).toBe(1);
    }
  }
  await dialer.close();
  await cleanUp();
  return unlucky.reduce((sum, { cuts }) => sum + cuts, 0);
}

for (const transport of CUT_TRANSPORTS)
  test(
    `clients that are cut off anywhere miss nothing and get nothing twice over ${transport} (HEDDLE_SEED=${SEED}, ${ROUNDS} rounds)`,
    async () => {
      let cuts = 0;
      for (let index = 0; index < ROUNDS; index += 1) {
        const seed = SEED + index * 1_000_003;
        cuts += await round(transport, seed).catch((error: unknown) => {
          throw new Error(`with HEDDLE_SEED=${seed}`, { cause: error });
        });
      }
      expect(cuts).toBeGreaterThan(CUT_CLIENTS);
    },
    120_000 + ROUNDS * 60_000,
  );
