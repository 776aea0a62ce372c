// Methods that are not there: refused by name and with a reason, after the checks that every method gets.

import { describe, expect, it } from 'vitest';
import { localPrincipal } from '../../../src/auth/principal.ts';
import { EXPERIMENTAL_METHODS, PROTOCOL_METHODS, unsupportedRoutes } from '../../../src/rpc/unsupported.ts';
import { serveRoutes } from '../../harness/served-routes.ts';

function connect(experimentalApi: boolean) {
  const call = serveRoutes(unsupportedRoutes(new Set(['thread/start'])), localPrincipal, experimentalApi);
  return (method: string, params?: unknown) =>
    call(method, params).then(
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
