// The handshake over a linked pair of connections: what is accepted, refused, answered and changed.

import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { localPrincipal } from '../../../src/auth/principal.ts';
import { handshakeHandlers } from '../../../src/handshake/handlers.ts';
import { initialize } from '../../../src/handshake/methods.ts';
import { Peer } from '../../../src/rpc/peer.ts';
import { type Session, Sessions } from '../../../src/rpc/session.ts';
import { FRAME_LIMIT } from '../../../src/transports/connection.ts';
import { memoryPair } from '../../../src/transports/memory.ts';
import { routerOf } from '../../harness/served-routes.ts';

const log = pino({ level: 'silent' });

function start() {
  const sessions = new Sessions();
  const events: string[] = [];
  const onInitialized = (session: Session) => {
    events.push(session.client.name);
    session.notify(
      { method: 'hello', params: initialize.params, experimental: false },
      {
        clientInfo: { name: 'n', version: 'v' },
      },
    );
  };
  const routes = handshakeHandlers({
    sessions,
    version: '9.8.7',
    dataDirectory: '/data',
    features: ['seq'],
    settingsOf: (flags) => ({ flags }),
    onInitialized,
  });
  const router = routerOf(routes);
  const [ours, theirs] = memoryPair();
  const limits: number[] = [];
  const limitFrames = ours.limitFrames.bind(ours);
  ours.limitFrames = (bytes) => {
    limits.push(bytes);
    limitFrames(bytes);
  };
  const session = router.serve(ours, localPrincipal);
  const client = new Peer(
    theirs,
    {
      request: () => {},
      notification: (message) => events.push(message.method),
      isStop: () => false,
    },
    { log },
  );
  void client.run();
  return { client, session, sessions, events, limits };
}

const client = (name: string, extra: object = {}) => ({ clientInfo: { name, version: '1', ...extra } });

describe('initialize', () => {
  it('answers who the server is, in the shape it declares', async () => {
    const { client: peer, session, sessions, limits } = start();
    const answer = (await peer.call('initialize', {
      ...client('kit', { title: 'Kit' }),
      capabilities: { experimentalApi: true, optOutNotificationMethods: ['thread/started'], requestAttestation: false },
    })) as { userAgent: string };
    expect(initialize.result().parse(answer)).toEqual(answer);
    expect(answer).toMatchObject({
      codexHome: '/data',
      server: { name: 'heddle', version: '9.8.7', limits: { frameBytes: FRAME_LIMIT }, features: ['seq'] },
    });
    expect(answer.userAgent).toMatch(/^kit\/0\.171\.0 \(.+; .+\) .*heddle\/9\.8\.7$/);
    expect(limits).toEqual([FRAME_LIMIT]);
    expect([...sessions]).toEqual([session]);
    expect(session.client).toMatchObject({ name: 'kit', title: 'Kit', experimentalApi: true });
    expect(session.wants({ method: 'thread/started', experimental: false })).toBe(false);
    expect(session.wants({ method: 'thread/closed', experimental: true })).toBe(true);
  });

  it.each([
    ['no capabilities', client('x')],
    ['null capabilities', { ...client('x', { title: null }), capabilities: null }],
    ['an empty name', { ...client(''), capabilities: null }],
    ['a name beyond ASCII', client('héllo wörld')],
    ['a tab in the name', client('a\tb')],
    ['null members', { ...client('x'), capabilities: { experimentalApi: null, optOutNotificationMethods: null } }],
  ])('accepts %s, without the experimental interface', async (_label, params) => {
    const { client: peer, session } = start();
    await peer.call('initialize', params);
    expect(session.client).toMatchObject({ name: params.clientInfo.name, experimentalApi: false });
  });

  it('tells others after the answer', async () => {
    const { client: peer, events } = start();
    await peer.call('initialize', client('x')).then(() => events.push('answered'));
    await expect(peer.call('initialize', client('x'))).rejects.toThrow();
    expect(events).toEqual(['x', 'answered', 'hello']);
  });

  it('refuses what cannot be a header, and lets the client try again', async () => {
    const { client: peer, session, sessions } = start();
    await expect(peer.call('initialize', client('a\nb'))).rejects.toMatchObject({
      message: "Invalid clientInfo.name: 'a\nb'. Must be a valid HTTP header value.",
      data: { code: -32600 },
    });
    await expect(peer.call('initialize', {})).rejects.toMatchObject({ data: { code: -32602 } });
    expect(session.isInitialized).toBe(false);
    expect(sessions.size).toBe(0);
    await peer.call('initialize', client('a'));
    expect(sessions.size).toBe(1);
  });

  it('refuses a second time', async () => {
    const { client: peer, session } = start();
    await peer.call('initialize', client('first'));
    await expect(peer.call('initialize', client('second'))).rejects.toThrow('Already initialized');
    expect(session.client.name).toBe('first');
  });

  it('writes no control character of the client into the user agent', async () => {
    const { client: peer } = start();
    const answer = (await peer.call('initialize', client('x', { version: '1\r\n2' }))) as { userAgent: string };
    expect(answer.userAgent).toContain('(x; 1__2)');
  });
});
