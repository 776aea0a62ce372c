// Random schedules of answers, cuts, expiries, interrupts and restarts over real commands: no command runs without a recorded
// acceptance of exactly that command, every turn ends or only waits, and no process is left.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { localPrincipal, type Permission, type Principal } from '../../src/auth/principal.ts';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import type { Proposal, Resolution } from '../../src/model/approval.ts';
import type { EventOf, ThreadEvent } from '../../src/model/event.ts';
import { SEED } from '../harness/chance.ts';
import { type Choices, choicesOf } from '../harness/schedule.ts';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import { type Received, RequestFailed, type TestClient } from '../harness/test-client.ts';
import { startThread, startTurn } from '../harness/turns.ts';
import { eventually } from '../unit/children/waiting.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 50);
const STEPS = 14;
const EXPIRY_SECONDS = 100;

afterEach(cleanUp);

const CAPABLE = { experimentalApi: true };
const person = (subject: string, ...permissions: Permission[]): Principal => ({
  ...localPrincipal,
  subject,
  permissions: new Set(permissions),
});
const PEOPLE: readonly Principal[] = [
  localPrincipal,
  person('helper', 'thread:read', 'thread:write', 'approval:resolve'),
  person('reader', 'thread:read', 'thread:write'),
];

const GARBAGE: readonly unknown[] = [
  ...[null, true, 'accept', {}, [], { decision: 'approved' }, { decision: 'ACCEPT' }, { decision: true }],
  { decision: { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['sh'] } } },
  { permissions: {}, scope: 'session' },
];

/** One thread with a turn of several commands, and those who may do something about it. */
class Schedule {
  server: RunningApp;
  readonly clock: ManualClock;
  readonly choices: Choices;
  readonly workspace: string;
  /** What was done, for whoever reads a failure. */
  readonly done: string[] = [];
  /** Approvals of which somebody who may has said yes. */
  readonly consented = new Set<string>();
  threadId = '';
  turnId = '';
  #people: TestClient[] = [];

  constructor(server: RunningApp, clock: ManualClock, choices: Choices) {
    this.server = server;
    this.clock = clock;
    this.choices = choices;
    this.workspace = server.workspace;
  }

  async begin(): Promise<void> {
    this.#people = await Promise.all(PEOPLE.map((each) => this.server.connectAs(each, CAPABLE)));
    const owner = this.#people[0]!;
    const settings = { cwd: this.workspace, approvalPolicy: 'untrusted', sandbox: 'workspace-write' };
    this.threadId = await startThread(owner, settings);
    await Promise.all(this.#people.slice(1).map((each) => this.#join(each)));
    const script = Array.from({ length: 1 + this.choices.below(4) }, (_, index) => this.#line(index)).join('\n');
    this.done.push(`turn: ${script.replaceAll('\n', ' | ')}`);
    this.turnId = await startTurn(owner, this.threadId, script);
    await owner.asked().catch(() => {});
  }

  async step(): Promise<void> {
    const { choices } = this;
    const acts = [
      ...[this.#answer, this.#answer, this.#answer, this.#garble, this.#answerTwice, this.#intrude],
      ...[this.#resolve, this.#resolve, this.#leave, this.#wait, this.#wait],
      ...(choices.isLikely(0.3) ? [this.#interrupt, this.#expire, this.#restart, this.#kill] : []),
    ];
    const act = (await this.#hasLeft()) && choices.isLikely(0.6) ? this.#goOn : choices.of(acts);
    this.done.push(act.name);
    await act.call(this);
    await this.#settled();
  }

  /** Whoever looks last: the turn is left as it is, or brought to its end. */
  async end(): Promise<void> {
    if (this.choices.isLikely(0.3)) return;
    this.done.push('interrupt at the end');
    await this.#interrupt();
  }

  #line(index: number): string {
    const { choices } = this;
    if (choices.isLikely(index === 0 ? 0.4 : 0.1)) return this.#typedInto(index);
    const stays = choices.isLikely(0.2) ? '; sleep 600' : '';
    const gap = index > 0 && choices.isLikely(0.3) ? '\n' : '';
    return `${gap}${choices.of(['run', 'run!'])} echo token-${index} >> ${join(this.workspace, 'marks')}${stays}`;
  }

  /** A shell that is left running, and a command for it to read. */
  #typedInto(index: number): string {
    const marks = join(this.workspace, 'marks');
    return `\nleave! echo token-${index + 10} >> ${marks}; exec sh\ntype echo token-${index + 20} >> ${marks}\n`;
  }

  /** Somebody who was asked, and what. */
  #question(): { readonly client: TestClient; readonly question: Received } | undefined {
    const asked = this.#people.flatMap((client) => client.questions().map((question) => ({ client, question })));
    return asked.length === 0 ? undefined : this.choices.of(asked);
  }

  async #answer(): Promise<void> {
    const asked = this.#question();
    if (!asked) return;
    this.#send(asked.client, asked.question, this.choices.of(asked.question.params.availableDecisions));
  }

  #send(client: TestClient, { id, params }: Received, decision: unknown): void {
    if (isYes(decision) && this.#mayAnswer(client)) this.consented.add(params.heddle.approvalId);
    client.send({ id, result: { decision } });
  }

  #mayAnswer = (client: TestClient): boolean =>
    PEOPLE[this.#people.indexOf(client)]!.permissions.has('approval:resolve');

  async #answerTwice(): Promise<void> {
    const asked = this.#question();
    if (!asked) return;
    for (const client of [asked.client, this.choices.of(this.#people)])
      this.#send(client, asked.question, this.choices.of(['accept', 'decline', 'cancel']));
  }

  async #garble(): Promise<void> {
    const asked = this.#question();
    if (!asked) return;
    const answer = this.choices.isLikely(0.2) ? { error: { code: -1, message: 'no' } } : { result: this.#garbage() };
    asked.client.send({ id: asked.question.id, ...answer });
  }

  #garbage(): unknown {
    return this.choices.of(GARBAGE);
  }

  /** Without the permission, and to a question that was never shown. */
  async #intrude(): Promise<void> {
    const asked = this.#question();
    const reader = this.#people[2]!;
    if (asked) reader.send({ id: asked.question.id, result: { decision: 'accept' } });
    reader.send({ id: this.choices.below(1_000), result: { decision: 'accept' } });
  }

  async #resolve(): Promise<void> {
    const { choices } = this;
    const pending = await this.#pending();
    if (pending.length === 0) return;
    const { approvalId, nonce, availableDecisions } = choices.of(pending);
    const decision = choices.isLikely(0.7) ? choices.of(availableDecisions) : 'approved';
    const known = choices.isLikely(0.8) ? nonce : 'guessed';
    const client = choices.of(this.#people);
    if (availableDecisions.includes(decision) && isYes(decision) && known === nonce && this.#mayAnswer(client))
      this.consented.add(approvalId);
    await tried(client.request('approval/resolve', { approvalId, nonce: known, decision }));
  }

  async #leave(): Promise<void> {
    const index = this.choices.below(this.#people.length);
    this.#people[index]!.wire.cut();
    const again = await this.server.connectAs(PEOPLE[index]!, CAPABLE);
    this.#people[index] = again;
    await this.#join(again);
  }

  /** Until the turn has gone on from a command that it leaves running, if it does. */
  async #goOn(): Promise<void> {
    await this.#wait();
    await eventually('the turn to go on', async () => {
      this.clock.advance(500);
      return (await this.#turn()).status !== 'inProgress' || !(await this.#hasLeft());
    });
  }

  /** Until everything that was accepted has had its effect. */
  async #wait(): Promise<void> {
    await eventually('what was accepted to run', async () => {
      const open = await this.#openItems();
      const pending = await this.#pending();
      const marks = readMarks(join(this.workspace, 'marks'));
      const isAsked = (item: Received) => pending.some(({ itemId }) => itemId === item.id);
      return open.every((item) => isAsked(item) || marks.includes(tokenOf(item.command)));
    });
  }

  /** A shell runs, or is about to, and the turn waits for nothing else. */
  async #hasLeft(): Promise<boolean> {
    const [open, pending] = [await this.#openItems(), await this.#pending()];
    const runs = (what: string) => open.some(({ command }) => command.includes(what));
    return pending.length === 0 && runs('exec sh') && !runs('sleep 600');
  }

  async #turn(): Promise<Received> {
    const { thread } = await this.#people[0]!.request('thread/read', { threadId: this.threadId, includeTurns: true });
    return thread.turns.at(-1);
  }

  async #openItems(): Promise<Received[]> {
    return (await this.#turn()).items.filter(({ status }: Received) => status === 'inProgress');
  }

  async #pending(): Promise<Received[]> {
    return (await this.#people[0]!.request('approval/pending', {})).data;
  }

  async #interrupt(): Promise<void> {
    await tried(this.#people[0]!.request('turn/interrupt', { threadId: this.threadId, turnId: this.turnId }));
  }

  async #expire(): Promise<void> {
    this.clock.advance(this.choices.of([20, 50, 100]) * EXPIRY_SECONDS * 10);
  }

  async #restart(): Promise<void> {
    await this.server.restart();
    await this.#rejoin();
  }

  /** Only while nothing runs: what does would go on beside the copy. */
  async #kill(): Promise<void> {
    await this.#wait();
    const [open, pending] = [await this.#openItems(), await this.#pending()];
    if (pending.length === 0 || pending.length !== open.length) return;
    // What would be typed is for a command that runs.
    if (pending.some(({ kind }) => kind !== 'command')) return;
    for (const client of this.#people) client.wire.cut();
    const before = this.server;
    this.server = await before.afterKill();
    await before.close();
    await this.#rejoin();
  }

  async #rejoin(): Promise<void> {
    this.#people = await Promise.all(PEOPLE.map((each) => this.server.connectAs(each, CAPABLE)));
    for (const client of this.#people) await this.#join(client);
  }

  async #join(client: TestClient): Promise<void> {
    await client.request('thread/resume', { threadId: this.threadId });
  }

  async #settled(): Promise<void> {
    await Promise.all(this.#people.map((client) => client.settled()));
  }
}

/** A refusal is an outcome like another; everything else is a failure. */
async function tried(request: Promise<unknown>): Promise<void> {
  await request.catch((error: unknown) => {
    if (!(error instanceof RequestFailed) || error.message.includes('internal error')) throw error;
  });
}

async function eventsOf(directory: string, threadId: string): Promise<ThreadEvent[]> {
  const history = await openLmdbHistory({ directory, log: silentLog() });
  try {
    const stored = await history.forTenant('local').events(threadId, 0, 10_000);
    return stored.map(({ event }) => event);
  } finally {
    await history.close();
  }
}

const isYes = (decision: unknown): boolean => decision !== 'decline' && decision !== 'cancel';
const isAcceptance = (resolution: Resolution): boolean => resolution.by === 'answer' && isYes(resolution.decision);

type Requested = EventOf<'approvalRequested'>;
type Resolved = EventOf<'approvalResolved'>;

/** Holds what is on disk against the log. */
function check(events: readonly ThreadEvent[], tokens: readonly string[], consented: ReadonlySet<string>): void {
  const asked = events.filter((event): event is Requested => event.type === 'approvalRequested');
  const ended = events.filter((event): event is Resolved => event.type === 'approvalResolved');
  const end = events.find((event) => event.type === 'turnCompleted');
  expect(new Set(ended.map(({ approvalId }) => approvalId)).size, 'a question ends once').toBe(ended.length);
  for (const { proposal } of asked) {
    const isOver = ended.some(({ approvalId }) => approvalId === proposal.id);
    if (end) expect(isOver, 'no question outlives its turn').toBe(true);
  }
  expect(new Set(tokens).size, 'nothing runs twice').toBe(tokens.length);
  for (const token of tokens) {
    const proposals = asked.filter(({ proposal }) => names(wordsOf(proposal), token));
    const accepted = ended.filter(
      ({ approvalId, resolution }) =>
        isAcceptance(resolution) && proposals.some(({ proposal }) => proposal.id === approvalId),
    );
    expect(accepted, `an acceptance of ${token}`).toHaveLength(1);
    expect(consented, `somebody said yes to ${token}`).toContain(accepted[0]?.approvalId);
  }
  for (const event of events) {
    if (event.type !== 'itemCompleted' || event.item.type !== 'commandExecution') continue;
    const { command, status } = event.item;
    const token = tokenOf(command);
    if (status === 'completed') expect(tokens, 'what is said to have run has').toContain(token);
    if (status === 'declined') expect(tokens, 'what is said not to have run has not').not.toContain(token);
  }
  if (!end) expect(asked.length, 'a turn that has not ended waits').toBeGreaterThan(ended.length);
}

/** What would run. */
function wordsOf(proposal: Proposal): string {
  if (proposal.kind === 'terminalInput') return proposal.chars;
  return proposal.kind === 'command' ? proposal.command : '';
}

const tokenOf = (command: string): string => /token-\d+/.exec(command)?.[0] ?? '';
const names = (command: string, token: string): boolean => command.includes(`${token} `);

/** Pids of processes that were given this folder in their command line. */
function processesAbout(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
      } catch {
        return false;
      }
    });
}

/** Gives how many commands were shown, and how many ran. */
async function round(seed: number): Promise<{ readonly asked: number; readonly ran: number }> {
  const clock = new ManualClock();
  const server = await startApp({ clock, config: { approval_timeout_seconds: EXPIRY_SECONDS } });
  const schedule = new Schedule(server, clock, choicesOf(seed));
  try {
    await schedule.begin();
    const steps = 1 + schedule.choices.below(STEPS);
    for (let made = 0; made < steps; made += 1) await schedule.step();
    await schedule.end();
    await schedule.server.close();
    const marks = readMarks(join(schedule.workspace, 'marks'));
    const events = await eventsOf(schedule.server.dataDirectory, schedule.threadId);
    check(events, marks, schedule.consented);
    await eventually('no process is left', () => processesAbout(schedule.workspace).length === 0);
    return { asked: events.filter(({ type }) => type === 'approvalRequested').length, ran: marks.length };
  } catch (error) {
    const story = schedule.done.join('\n  ');
    throw new Error(`HEDDLE_SEED=${seed} HEDDLE_ROUNDS=1\n  ${story}\n${(error as Error).stack}`);
  } finally {
    await cleanUp();
  }
}

function readMarks(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

test(`${ROUNDS} random schedules from seed ${SEED}`, { timeout: 120_000 + ROUNDS * 20_000 }, async () => {
  const sum = { asked: 0, ran: 0 };
  for (let index = 0; index < ROUNDS; index += 1) {
    const { asked, ran } = await round((SEED + index) | 0);
    sum.asked += asked;
    sum.ran += ran;
  }
  if (ROUNDS < 20) return;
  expect(sum.ran, 'some were accepted').toBeGreaterThan(0);
  expect(sum.asked, 'and some were not').toBeGreaterThan(sum.ran);
});
