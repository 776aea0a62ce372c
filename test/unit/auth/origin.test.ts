// Origin and Host: web pages and rebound names stay outside.

import { describe, expect, it } from 'vitest';
import {
  allowedOrigin,
  hostName,
  isAllowedOrigin,
  isLoopbackAddress,
  isOwnHost,
  publicName,
} from '../../../src/auth/origin.ts';

const loopback = { acceptsLoopback: true, publicNames: [] };
const proxied = { acceptsLoopback: false, publicNames: ['heddle.example'] };

describe('Host', () => {
  it.each([
    ['127.0.0.1:4500'],
    ['127.8.9.1'],
    ['localhost:4500'],
    ['LOCALHOST'],
    ['localhost.'],
    ['localhost.:4500'],
    ['[::1]:4500'],
    ['[::1]'],
  ])('%s belongs to a loopback listener', (host) => {
    expect(isOwnHost([host], loopback)).toBe(true);
    expect(isOwnHost([host], proxied)).toBe(false);
  });

  it.each([
    ['evil.example:4500'],
    ['127.evil.example'],
    ['127.0.0.1.evil.example'],
    ['localhost.evil.example'],
    ['127.1'],
    ['0x7f.0.0.1'],
    ['0.0.0.0:4500'],
    ['192.168.1.1'],
    ['user@localhost'],
    ['localhost/x'],
    ['localhost, evil.example'],
    ['[::1'],
    ['[localhost]'],
    ['::1'],
    [''],
  ])('%j is foreign', (host) => {
    expect(isOwnHost([host], loopback)).toBe(false);
  });

  it('must be there, once', () => {
    expect(isOwnHost([], loopback)).toBe(false);
    expect(isOwnHost(['localhost', 'localhost'], loopback)).toBe(false);
  });

  it('may be a public name of the proxy, with any port', () => {
    expect(isOwnHost(['Heddle.Example:443'], proxied)).toBe(true);
    expect(isOwnHost(['sub.heddle.example'], proxied)).toBe(false);
  });
});

describe('Origin', () => {
  const allowed = new Set(['https://app.example', 'vscode-webview://abc'].map(allowedOrigin));

  it('may be missing or on the list, and nothing else', () => {
    expect(isAllowedOrigin([], allowed)).toBe(true);
    expect(isAllowedOrigin(['https://app.example'], allowed)).toBe(true);
    expect(isAllowedOrigin(['vscode-webview://abc'], allowed)).toBe(true);
    for (const origin of ['null', '', 'http://app.example', 'https://app.example.evil', 'https://app.example:8443'])
      expect(isAllowedOrigin([origin], allowed)).toBe(false);
    expect(isAllowedOrigin(['https://app.example', 'https://app.example'], allowed)).toBe(false);
    expect(isAllowedOrigin(['http://localhost:3000'], new Set())).toBe(false);
  });

  it('is listed whole', () => {
    expect(allowedOrigin('HTTPS://App.Example/')).toBe('https://app.example');
    for (const entry of ['*', 'null', 'app.example', 'https://*.example', 'https://a.example/path'])
      expect(() => allowedOrigin(entry)).toThrow('https://app.example');
  });
});

describe('names', () => {
  it('are parsed, not matched by prefix', () => {
    expect(hostName('[2001:DB8::1]:80')).toBe('2001:db8::1');
    expect(hostName('a b')).toBeUndefined();
    expect(isLoopbackAddress('::ffff:127.0.0.1')).toBe(true);
    expect(isLoopbackAddress('127.evil.example')).toBe(false);
    expect(publicName('Heddle.example.')).toBe('heddle.example');
    for (const entry of ['https://heddle.example', '*.example', '', 'a/b'])
      expect(() => publicName(entry)).toThrow('--behind-tls-proxy');
  });
});
