// What --listen accepts, and what each refusal tells to type instead.

import { describe, expect, it } from 'vitest';
import { isAppError, messageOf } from '../../../src/base/errors.ts';
import { listenAt, parseListenAddress } from '../../../src/transports/address.ts';

const parse = (text: string) => parseListenAddress(text, '/data/default.sock');

describe('parseListenAddress', () => {
  it.each([
    ['stdio://', { kind: 'stdio' }],
    ['off', { kind: 'off' }],
    ['unix://', { kind: 'unix', path: '/data/default.sock' }],
    ['unix:///run/a b.sock', { kind: 'unix', path: '/run/a b.sock' }],
    ['ws://127.0.0.1:0', { kind: 'websocket', host: '127.0.0.1', port: 0 }],
    ['ws://0.0.0.0:65535', { kind: 'websocket', host: '0.0.0.0', port: 65_535 }],
    ['ws://[::1]:4500', { kind: 'websocket', host: '::1', port: 4500 }],
  ])('reads %s', (text, address) => {
    expect(parse(text)).toEqual(address);
  });

  it.each([
    ['bogus', 'stdio://'],
    ['', 'stdio://'],
    ['http://127.0.0.1:1', 'ws://IP:PORT'],
    ['wss://127.0.0.1:1', 'ws://IP:PORT'],
    ['unix:relative', 'unix:///ABSOLUTE/PATH'],
    ['unix://relative.sock', 'three slashes'],
    ['ws://localhost:0', 'not a host name'],
    ['ws://127.0.0.1', 'ws://IP:PORT'],
    ['ws://127.1:80', 'ws://IP:PORT'],
    ['ws://127.0.0.1:65536', 'a port is at most 65535'],
    ['ws://::1:80', 'ws://[::1]:4500'],
    ['ws://[127.0.0.1]:80', 'ws://IP:PORT'],
    ['ws://127.0.0.1:80/path', 'ws://IP:PORT'],
  ])('refuses %j', (text, advice) => {
    try {
      parse(text);
      expect.unreachable();
    } catch (error) {
      expect(isAppError(error, 'invalid')).toBe(true);
      expect(messageOf(error)).toContain(`\`${text}\``);
      expect(messageOf(error)).toContain(advice);
    }
  });
});

describe('listenAt', () => {
  it('opens nothing for off', async () => {
    const listener = await listenAt({ kind: 'off' }, { dataDirectory: '/nonexistent' })(() => expect.unreachable());
    expect(listener.address).toBe('off');
    await listener.close();
  });

  it('checks the flags of a WebSocket listener before it opens anything', async () => {
    const listen = listenAt(parse('ws://0.0.0.0:0'), { dataDirectory: '/nonexistent' });
    await expect(listen(() => {})).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
