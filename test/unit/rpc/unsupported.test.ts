// Methods that are not there: refused by name and with a reason, after the checks that every method gets.

import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { localPrincipal } from '../../../src/auth/principal.ts';
import { Peer } from '../../../src/rpc/peer.ts';
import { Router } from '../../../src/rpc/router.ts';
import { EXPERIMENTAL_METHODS, PROTOCOL_METHODS, unsupportedRoutes } from '../../../src/rpc/unsupported.ts';
import { memoryPair } from '../../../src/transports/memory.ts';

const log = pino({ level: 'silent' });

function connect(experimentalApi: boolean) {
  const router = new Router(unsupportedRoutes(new Set(['thread/start'])), {
    log,
    validatesResults: true,
    ledgerOf: () => {
      throw new Error('no ledger here');
    },
  });
  const [ours, theirs] = memoryPair();
  const session = router.serve(ours, localPrincipal);
  session.initialized({ name: 'test', title: null, version: '1', experimentalApi, optOut: new Set() });
  const peer = new Peer(theirs, { request: () => {}, notification: () => {}, isStop: () => false }, { log });
  void peer.run();
  return (method: string, params?: unknown) =>
    peer.call(method, params).then(
      () => 'answered',
      (error: Error & { data: object }) => ({ message: error.message, data: error.data }),
    );
}

describe('methods that are not supported', () => {
  it('are all those of the protocol but the implemented ones, each once', () => {
    expect(new Set(PROTOCOL_METHODS).size).toBe(PROTOCOL_METHODS.length);
    expect(PROTOCOL_METHODS).toHaveLength(191);
    const refused = unsupportedRoutes(new Set(['thread/start', 'no/such'])).map((route) => route.method.method);
    expect(refused).toEqual(PROTOCOL_METHODS.filter((method) => method !== 'thread/start'));
  });

  it('say so in words and data that clients know', async () => {
    const reason = 'feedback is not sent anywhere';
    expect(await connect(false)('feedback/upload', { classification: 'bug' })).toEqual({
      message: `unknown method: feedback/upload (not supported: ${reason})`,
      data: { code: -32601, kind: 'unsupported', retryable: false, method: 'feedback/upload', reason },
    });
    expect(await connect(false)('feedback/upload', null)).toMatchObject({ data: { code: -32601 } });
  });

  it('need the experimental capability first where they are experimental', async () => {
    expect(EXPERIMENTAL_METHODS.has('remoteControl/enable')).toBe(true);
    expect(await connect(false)('remoteControl/enable')).toMatchObject({
      message: 'remoteControl/enable requires experimentalApi capability',
    });
    expect(await connect(true)('remoteControl/enable')).toMatchObject({ data: { kind: 'unsupported' } });
  });

  it('are told apart from names that no version knows', async () => {
    expect(await connect(true)('no/such')).toMatchObject({
      message: 'unknown method: no/such',
      data: { kind: 'method_not_found' },
    });
  });
});
