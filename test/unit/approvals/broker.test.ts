// Standing questions: the first answer that counts wins, its end is stored before anything follows, and a stop leaves them standing.

import { describe, expect, test } from 'vitest';
import { ApprovalBroker, SERVER_STOPS } from '../../../src/approvals/broker.ts';
import type { ThreadPort } from '../../../src/approvals/thread-port.ts';
import { localPrincipal, type Principal } from '../../../src/auth/principal.ts';
import { silentLog } from '../../../src/base/log.ts';
import type { Proposal } from '../../../src/model/approval.ts';
import type { ThreadEvent } from '../../../src/model/event.ts';
import { ManualClock } from '../transports/manual-clock.ts';

const CLOCK_START = 1_000_000;

const proposal = (id: string): Proposal =>
  ({
    id,
    kind: 'command',
    nonce: `nonce-${id}`,
    turnId: 't',
    itemId: 'i',
    sandbox: 'sandboxed',
    amendment: ['ls'],
    expiresAtMs: CLOCK_START + 500,
  }) as Partial<Proposal> as Proposal;

function bench(options: { readonly unattended?: 'wait' | 'decline'; readonly audience?: readonly Principal[] } = {}) {
  const clock = new ManualClock(CLOCK_START);
  const stored: ThreadEvent[] = [];
  const port: Pick<ThreadPort, 'append' | 'audience' | 'threadId'> = {
    threadId: 'thread-1',
    append: async (events) => stored.push(...events),
    audience: () => options.audience ?? [localPrincipal],
  };
  const broker = new ApprovalBroker({
    firstRequestId: 0,
    clock,
    log: silentLog(),
    mayAccept: () => undefined,
    unattended: () => options.unattended ?? 'wait',
  });
  const ask = (id: string, signal = new AbortController().signal, isStored = false) => {
    const answer = broker.ask(port as ThreadPort, proposal(id), signal, { isStored });
    answer.catch(() => {});
    return answer;
  };
  const ends = () => stored.flatMap((event) => (event.type === 'approvalResolved' ? [event.resolution] : []));
  return { clock, stored, broker, ask, ends };
}

const ACCEPT = { result: { decision: 'accept' } };

test('a question is stored under an id of its own, and answered', async () => {
  const { stored, broker, ask, ends } = bench();
  const [one, two] = [ask('p'), ask('q')];
  expect([broker.requestIdOf('p'), broker.requestIdOf('q')]).toEqual([0, 1]);
  broker.answered('q', ACCEPT, localPrincipal, 'c');
  broker.answered('p', { result: { decision: 'decline' } }, localPrincipal, 'c');
  expect(await Promise.all([one, two])).toEqual([{ decision: 'decline' }, { decision: 'accept' }]);
  expect(stored.filter(({ type }) => type === 'approvalRequested')).toHaveLength(2);
  expect(ends()).toContainEqual({ by: 'answer', decision: 'accept', subject: localPrincipal.subject });
  expect([broker.requestIdOf('p'), broker.requestIdOf('q')]).toEqual([undefined, undefined]);
});

test('only the first answer counts', async () => {
  const { broker, ask, ends } = bench();
  const answer = ask('p');
  broker.answered('p', { result: { decision: 'decline' } }, localPrincipal, 'c');
  broker.answered('p', ACCEPT, localPrincipal, 'c');
  expect(await answer).toEqual({ decision: 'decline' });
  broker.answered('p', ACCEPT, localPrincipal, 'c');
  expect(ends()).toHaveLength(1);
});

test('an answer of somebody who may not answer does not end the question', async () => {
  const { broker, ask } = bench();
  const answer = ask('p');
  const reader: Principal = { ...localPrincipal, permissions: new Set(['thread:read'] as const) };
  broker.answered('p', ACCEPT, reader, 'c');
  broker.answered('unknown', ACCEPT, localPrincipal, 'c');
  expect(broker.requestIdOf('p')).toBe(0);
  broker.answered('p', { result: { decision: 'cancel' } }, localPrincipal, 'c');
  expect(await answer).toEqual({ decision: 'cancel' });
});

test('an unclear answer is a refusal with a warning that says why', async () => {
  const { stored, broker, ask } = bench();
  const answer = ask('p');
  broker.answered('p', { result: { decision: 'sure' } }, localPrincipal, 'c');
  expect(await answer).toEqual({ refusedBecause: expect.stringContaining('shape') });
  expect(stored.at(-1)).toMatchObject({ type: 'warned', turnId: 't', message: expect.stringContaining('shape') });
});

test('its end is stored before the answer is given', async () => {
  const order: string[] = [];
  const { broker, stored } = bench();
  const port = {
    threadId: 'thread-1',
    audience: () => [localPrincipal],
    append: async (events: readonly ThreadEvent[]) => {
      await new Promise(setImmediate);
      order.push(...events.map(({ type }) => type));
      return stored.push(...events);
    },
  };
  const answer = broker.ask(port as Partial<ThreadPort> as ThreadPort, proposal('p'), new AbortController().signal, {
    isStored: false,
  });
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  broker.answered('p', ACCEPT, localPrincipal, 'c');
  await answer.then(() => order.push('answer'));
  expect(order).toEqual(['approvalRequested', 'approvalResolved', 'answer']);
});

test('it expires as a refusal, also when its time was over before it was asked again', async () => {
  const { clock, ask, ends } = bench();
  const answer = ask('p');
  clock.advance(499);
  await new Promise(setImmediate);
  expect(ends()).toEqual([]);
  clock.advance(1);
  expect(await answer).toEqual({ refusedBecause: expect.stringContaining('expired') });
  const late = ask('q', undefined, true);
  clock.advance(0);
  expect(await late).toEqual({ refusedBecause: expect.stringContaining('expired') });
  expect(clock.timers).toBe(0);
});

describe('an abort', () => {
  test('as an interrupt ends the question, and that is stored', async () => {
    const { ask, ends } = bench();
    const abort = new AbortController();
    const answer = ask('p', abort.signal);
    await new Promise(setImmediate);
    abort.abort('interrupted');
    await expect(answer).rejects.toMatchObject({ kind: 'cancelled' });
    expect(ends()).toEqual([{ by: 'interrupt' }]);
  });

  test('as a stop of the server leaves it standing in the log', async () => {
    const { clock, stored, ask, ends } = bench();
    const abort = new AbortController();
    const answer = ask('p', abort.signal);
    await new Promise(setImmediate);
    abort.abort(SERVER_STOPS);
    await expect(answer).rejects.toMatchObject({ kind: 'cancelled' });
    expect(ends()).toEqual([]);
    expect(stored).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });
});

describe('with nobody there', () => {
  test('it waits, or is refused at once where that is wanted, without having been asked', async () => {
    const { stored, ask } = bench({ unattended: 'decline', audience: [] });
    expect(await ask('p')).toEqual({ refusedBecause: expect.stringContaining('nobody') });
    expect(stored).toEqual([]);
    const waiting = bench({ audience: [] });
    const answer = waiting.ask('p');
    waiting.broker.answered('p', ACCEPT, localPrincipal, 'c');
    expect(await answer).toEqual({ decision: 'accept' });
  });

  test('one that stands already goes on standing', async () => {
    const { broker, ask, stored } = bench({ unattended: 'decline', audience: [] });
    const answer = ask('p', undefined, true);
    expect(broker.requestIdOf('p')).toBe(0);
    broker.answered('p', ACCEPT, localPrincipal, 'c');
    expect(await answer).toEqual({ decision: 'accept' });
    expect(stored.map(({ type }) => type)).toEqual(['approvalResolved']);
  });
});

test('an answer to a question from before a restart counts only within its time, also before its turn comes to it', async () => {
  const { clock, broker, ask } = bench();
  broker.revive(proposal('late'));
  clock.advance(500);
  broker.answered('late', ACCEPT, localPrincipal, 'c');
  expect(await ask('late', undefined, true)).toHaveProperty('refusedBecause');
});
