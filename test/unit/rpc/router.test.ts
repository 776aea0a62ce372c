// From a request to its answer: what is checked in which order, what is done once, and what happens after the reply.

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { localPrincipal, type Principal } from '../../../src/auth/principal.ts';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/log.ts';
import { deferred } from '../../../src/base/signals.ts';
import { openMemoryHistory } from '../../../src/history/memory.ts';
import { request, unqueued } from '../../../src/rpc/declare.ts';
import { Peer } from '../../../src/rpc/peer.ts';
import { type Handlers, implement, Router } from '../../../src/rpc/router.ts';
import { memoryPair } from '../../../src/transports/memory.ts';

const spec = {
  params: () => z.object({ n: z.number() }),
  result: () => z.object({ n: z.number() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
} as const;

const methods = {
  plain: request('plain', spec),
  queued: request('queued', { ...spec, queue: () => ({ key: 'k' }) }),
  effect: request('effect', { ...spec, mutates: 'effect' }),
  written: request('written', { ...spec, needs: 'thread:write' }),
};
type Methods = typeof methods;

const same = async ({ n }: { n: number }) => ({ n });

function serve(handlers: Partial<Handlers<Methods>> = {}, principal: Principal = localPrincipal) {
  const history = openMemoryHistory();
  const all = { plain: same, queued: same, effect: same, written: same, ...handlers };
  const router = new Router(implement(methods, all), {
    log: silentLog(),
    ledgerOf: ({ tenant }) => history.forTenant(tenant).ledger,
    validatesResults: true,
  });
  /** The other end of a served connection that has shaken hands. */
  const dial = () => {
    const [ours, theirs] = memoryPair();
    const session = router.serve(ours, principal);
    session.initialized({ name: 'test', title: null, version: '1', experimentalApi: false, optOut: new Set() });
    return theirs;
  };
  const connect = () => {
    const theirs = dial();
    const peer = new Peer(theirs, { request() {}, notification() {}, isStop: () => false }, { log: silentLog() });
    void peer.run();
    return { call: (method: string, params: object) => peer.call(method, params), theirs };
  };
  return { ...connect(), connect, dial };
}

describe('a request is refused', () => {
  const reader: Principal = { ...localPrincipal, permissions: new Set(['thread:read'] as const) };

  test('for want of a permission before its params are looked at', async () => {
    const { call } = serve({}, reader);
    await expect(call('written', { n: 'x' })).rejects.toMatchObject({ data: { kind: 'forbidden' } });
    await expect(call('plain', { n: 'x' })).rejects.toMatchObject({ kind: 'invalid' });
  });

  test('when its params do not fit, with the place and what is allowed there', async () => {
    const { call } = serve();
    await expect(call('plain', { n: 'x' })).rejects.toThrow(/Invalid request: n: .*number/);
    await expect(call('plain', {})).rejects.toThrow(/Invalid request: n: /);
  });

  test('as a defect when its result does not fit, or its handler throws anything but our own errors', async () => {
    const { call } = serve({
      plain: async () => ({ n: 'secret' }) as never,
      queued: async () => Promise.reject(new Error('secret')),
    });
    for (const method of ['plain', 'queued']) {
      const error = await call(method, { n: 1 }).catch((each: Error) => each);
      expect(error).toMatchObject({ data: { kind: 'internal' } });
      expect((error as Error).message).not.toContain('secret');
    }
  });
});

test('requests of one queue run one after the other, from whatever connection', async () => {
  const began: number[] = [];
  const gate = deferred();
  const { call, connect } = serve({
    queued: async ({ n }) => {
      began.push(n);
      if (n === 1) await gate.promise;
      return { n };
    },
  });
  const other = connect();
  const first = call('queued', { n: 1 });
  const second = other.call('queued', { n: 2 });
  await call('plain', { n: 0 });
  await other.call('plain', { n: 0 });
  expect(began).toEqual([1]);
  gate.resolve();
  expect(await Promise.all([first, second])).toEqual([{ n: 1 }, { n: 2 }]);
  expect(began).toEqual([1, 2]);
});

describe('what is left for after the reply', () => {
  test('comes after it on the wire', async () => {
    const { dial } = serve({
      plain: async ({ n }, { session, afterReply }) => {
        afterReply(() => session.peer.notify('news', {}));
        await Promise.resolve();
        return { n };
      },
    });
    const theirs = dial();
    theirs.send(['{"id":1,"method":"plain","params":{"n":1}}']);
    const frames = theirs.frames[Symbol.asyncIterator]();
    const [first, second] = [(await frames.next()).value, (await frames.next()).value];
    expect(JSON.parse(first as string)).toEqual({ id: 1, result: { n: 1 } });
    expect(JSON.parse(second as string)).toMatchObject({ method: 'news' });
  });

  test('is done also when the client has gone', async () => {
    const [began, gate, done] = [deferred(), deferred(), deferred()];
    const { call, theirs } = serve({
      plain: async ({ n }, { afterReply, signal }) => {
        afterReply(() => done.resolve());
        began.resolve();
        await gate.promise;
        expect(signal.aborted).toBe(true);
        return { n };
      },
    });
    const answer = call('plain', { n: 1 }).catch((error: Error) => error);
    await began.promise;
    await theirs.close();
    expect(await answer).toMatchObject({ kind: 'unavailable' });
    gate.resolve();
    await done.promise;
  });
});

describe('an effect outside the store', () => {
  test('is had once for one key, and its reply is given again', async () => {
    let effects = 0;
    const { call, connect } = serve({
      effect: async () => {
        effects += 1;
        return { n: effects };
      },
    });
    expect(await call('effect', { n: 1, idempotencyKey: 'k' })).toEqual({ n: 1 });
    expect(await connect().call('effect', { idempotencyKey: 'k', n: 1 })).toEqual({ n: 1 });
    expect(await call('effect', { n: 1, idempotencyKey: 'other' })).toEqual({ n: 2 });
    await expect(call('effect', { n: 2, idempotencyKey: 'k' })).rejects.toMatchObject({
      data: { kind: 'idempotency_drift' },
    });
    expect(await call('effect', { n: 1 })).toEqual({ n: 3 });
  });

  test('whose outcome is not known is not tried again by itself', async () => {
    let effects = 0;
    const { call } = serve({
      effect: async () => {
        effects += 1;
        throw new AppError('unavailable', 'the line went dead');
      },
    });
    await expect(call('effect', { n: 1, idempotencyKey: 'k' })).rejects.toMatchObject({
      message: 'the line went dead',
    });
    await expect(call('effect', { n: 1, idempotencyKey: 'k' })).rejects.toMatchObject({
      kind: 'notSettled',
      data: { kind: 'uncertain' },
    });
    expect(effects).toBe(1);
  });

  test.each(['invalid', 'notFound', 'forbidden', 'unsupported', 'conflict', 'overloaded'] as const)(
    'that was refused as %s has not taken the key',
    async (kind) => {
      let isRefused = true;
      const { call } = serve({
        effect: async ({ n }) => {
          if (isRefused) throw new AppError(kind, 'no');
          return { n };
        },
      });
      const params = { n: 1, idempotencyKey: 'k' };
      for (let round = 0; round < 2; round += 1) await expect(call('effect', params)).rejects.toThrow('no');
      isRefused = false;
      expect(await call('effect', { ...params, n: 2 })).toEqual({ n: 2 });
      isRefused = true;
      expect(await call('effect', { ...params, n: 2 })).toEqual({ n: 2 });
    },
  );

  test('that broke off half-way is not tried again by itself, whatever broke it', async () => {
    const { call } = serve({
      effect: async () => {
        throw new AppError('notFound', 'a file has gone', { isPartial: true });
      },
    });
    const params = { n: 1, idempotencyKey: 'k' };
    await expect(call('effect', params)).rejects.toThrow('a file has gone');
    await expect(call('effect', params)).rejects.toMatchObject({ data: { kind: 'uncertain' } });
  });

  test('under way is not had a second time', async () => {
    const [began, gate] = [deferred(), deferred()];
    let effects = 0;
    const { call } = serve({
      effect: async ({ n }) => {
        effects += 1;
        began.resolve();
        await gate.promise;
        return { n };
      },
    });
    const first = call('effect', { n: 1, idempotencyKey: 'k' });
    await began.promise;
    await expect(call('effect', { n: 1, idempotencyKey: 'k' })).rejects.toMatchObject({ kind: 'notSettled' });
    gate.resolve();
    expect(await first).toEqual({ n: 1 });
    expect(effects).toBe(1);
  });
});

test('a method that is implemented twice is a defect at the start', () => {
  const routes = implement({ plain: methods.plain }, { plain: same });
  const options = { log: silentLog(), ledgerOf: () => ({}) as never, validatesResults: true };
  expect(() => new Router([...routes, ...routes], options)).toThrow(/twice/);
});
