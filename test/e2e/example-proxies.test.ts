// Remote clients behind real TLS proxies with the configurations of examples/proxy: long streams, cuts, tokens, logs.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { eventually } from '../unit/children/waiting.ts';
import { Program, run, scratch, serve } from './executable.ts';
import { PROXIES, startProxy, type TlsProxy } from './proxies.ts';

const CLIENT = fileURLToPath(new URL('../../examples/remote-client.mjs', import.meta.url));
const ORIGIN = 'https://app.example';
const ISSUED = ['--issuer', 'https://id.example', '--audience', 'heddle'];

interface Host {
  /** Where the proxy finds the server. */
  readonly upstream: string;
  /** The only folder of remote threads. */
  readonly project: string;
  sign(...claims: string[]): Promise<string>;
}

/** The server as docs/remote.md sets it up. */
async function startHost(): Promise<Host> {
  const folder = scratch();
  const [data, project, secret] = ['data', 'project', 'secret'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(data);
  mkdirSync(project);
  const remote = { roots: [project], sandbox: 'workspace-write', approvals: 'on-request' };
  writeFileSync(join(data, 'config.yaml'), JSON.stringify({ remote, sandbox_mode: 'workspace-write' }));
  expect((await run(['token', 'new', '--file', secret])).code).toBe(0);
  const listen = ['--listen', 'ws://127.0.0.1:0', '--behind-tls-proxy', 'localhost', '--allow-origin', ORIGIN];
  const auth = ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', secret];
  const claims = ['--ws-issuer', 'https://id.example', '--ws-audience', 'heddle'];
  const { address } = await serve([...listen, ...auth, ...claims, '--data-dir', data]);
  return {
    upstream: address.slice('ws://'.length),
    project,
    async sign(...more) {
      const { code, stdout } = await run(['token', 'sign', '--secret-file', secret, '--sub', 'alice', ...more]);
      expect(code).toBe(0);
      return stdout.trim();
    },
  };
}

const fullToken = (host: Host): Promise<string> =>
  host.sign(...ISSUED, '--tenant', 'acme', '--scope', 'thread:read thread:write approval:resolve');

function example(proxy: TlsProxy, host: Host, token: string, prompt: string): Program {
  const environment = { HEDDLE_TOKEN: token, NODE_EXTRA_CA_CERTS: proxy.authority };
  return new Program([`wss://${proxy.host}`, host.project, prompt], { executable: CLIENT, environment });
}

/** The status of an upgrade that is refused, or 101. */
async function upgrade(proxy: TlsProxy, protocols: readonly string[], headers: Readonly<Record<string, string>>) {
  const ca = readFileSync(proxy.authority);
  const socket = new WebSocket(`wss://${proxy.host}`, [...protocols], { ca, headers });
  const status = await new Promise<number>((resolve, reject) => {
    socket.once('open', () => resolve(101));
    socket.once('unexpected-response', (request, response) => {
      resolve(response.statusCode!);
      request.destroy();
    });
    socket.once('error', reject);
  });
  const isClosed = new Promise((resolve) => socket.once('close', resolve));
  socket.close();
  if (status === 101) await isClosed;
  return { status, protocol: socket.protocol };
}

const offered = (token: string): string[] => ['heddle.v1', `bearer.${Buffer.from(token).toString('base64url')}`];

/** Ends with a command that waits: the turn cannot be over before `goOn`. */
const long = (words: number, pace: number): string =>
  `say ${words} words at ${pace} a second\nrun! until [ -e go-on ]; do sleep 0.05; done\nsay The end`;
const goOn = (host: Host): void => writeFileSync(join(host.project, 'go-on'), '');
const wordsUpTo = (count: number): string => Array.from({ length: count }, (_, index) => `word${index + 1}`).join(' ');

for (const { name, isThere } of PROXIES) {
  describe.skipIf(!isThere)(name, () => {
    test('a stream goes on in order over a restart of the proxy', async () => {
      const host = await startHost();
      const token = await fullToken(host);
      const proxy = await startProxy(name, host.upstream);
      const client = example(proxy, host, token, long(600, 200));
      await client.said('stdout', /word100 /);
      await proxy.stop();
      await client.said('stderr', /\[reconnecting]/);
      await proxy.start();
      goOn(host);
      const { code, stdout, stderr } = await client.ended;
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${wordsUpTo(600)} The end\ncompleted\n` });
      expect(stderr).toContain('[ready]');
    });

    test('tokens are asked for, and are not in the access log', async () => {
      const host = await startHost();
      const token = await fullToken(host);
      const proxy = await startProxy(name, host.upstream);
      const bearer = { authorization: `Bearer ${token}` };
      expect(await upgrade(proxy, [], bearer)).toMatchObject({ status: 101 });
      expect(await upgrade(proxy, offered(token), { origin: ORIGIN })).toEqual({ status: 101, protocol: 'heddle.v1' });
      expect(await upgrade(proxy, [], {})).toMatchObject({ status: 401 });
      const foreign = await host.sign('--issuer', 'https://other.example', '--audience', 'heddle');
      expect(await upgrade(proxy, [], { authorization: `Bearer ${foreign}` })).toMatchObject({ status: 401 });
      expect(await upgrade(proxy, [], { ...bearer, origin: 'https://foreign.example' })).toMatchObject({ status: 403 });
      await eventually('all that is logged', () => proxy.accessLog().trimEnd().split('\n').length === 5);
      await proxy.stop();
      const log = proxy.accessLog();
      expect(log.trimEnd().split('\n')).toHaveLength(5);
      for (const secret of [token, foreign, ...offered(token).slice(1)]) expect(log).not.toContain(secret);
    });

    test('`heddle exec` works through it, within the ceiling', async () => {
      const host = await startHost();
      const proxy = await startProxy(name, host.upstream);
      const environment = { HEDDLE_TOKEN: await fullToken(host), NODE_EXTRA_CA_CERTS: proxy.authority };
      const remote = ['--remote', `wss://${proxy.host}`, '--remote-auth-token-env', 'HEDDLE_TOKEN'];
      const inside = await run(['exec', 'say Hello', ...remote, '-C', host.project], { environment });
      expect(inside).toMatchObject({ code: 0, stdout: 'Hello\n' });
      const outside = await run(['exec', 'say Hello', ...remote, '-C', scratch()], { environment });
      expect(outside.code).not.toBe(0);
      expect(outside.stdout).toBe('');
      const { NODE_EXTRA_CA_CERTS: _, ...withoutAuthority } = environment;
      const unknown = await run(['exec', 'say Hello', ...remote, '-C', host.project], {
        environment: withoutAuthority,
      });
      expect(unknown).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('NODE_EXTRA_CA_CERTS=') });
    });
  });
}

describe.skipIf(!PROXIES[0]!.isThere)('nginx', () => {
  test('a stream goes on over a reload', async () => {
    const host = await startHost();
    const proxy = await startProxy('nginx', host.upstream);
    const client = example(proxy, host, await fullToken(host), long(200, 200));
    await client.said('stdout', /word10 /);
    await proxy.reload();
    goOn(host);
    const { code, stdout, stderr } = await client.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${wordsUpTo(200)} The end\ncompleted\n` });
    expect(stderr).toBe('[closed]\n');
  });

  test('what it cuts for its silence comes back', async () => {
    const host = await startHost();
    const proxy = await startProxy('nginx', host.upstream, [['proxy_read_timeout 120s', 'proxy_read_timeout 2s']]);
    const client = example(proxy, host, await fullToken(host), 'say Before\nrun sleep 5\nsay After');
    const { code, stdout, stderr } = await client.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'BeforeAfter\ncompleted\n' });
    expect(stderr).toContain('[reconnecting]\n[ready]');
  });
});
