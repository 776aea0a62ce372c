// server/capabilities tells the truth about every method: what it calls served is declared and served, and what it rules out is refused.

import { afterEach, expect, test } from 'vitest';
import { PERMISSIONS, type Permission, type Principal } from '../../src/auth/principal.ts';
import { requests } from '../../src/protocol.ts';
import { PROTOCOL_METHODS } from '../../src/rpc/unsupported.ts';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const EXPERIMENTAL = { experimentalApi: true };
const DECLARED = Object.values(requests).map(({ method }) => method);

async function capabilitiesOf(client: TestClient): Promise<ReadonlyMap<string, Received>> {
  const { methods } = await client.request('server/capabilities');
  expect(methods.map(({ method }: Received) => method)).toEqual(
    [...new Set([...DECLARED, ...PROTOCOL_METHODS])].toSorted(),
  );
  return new Map(methods.map((each: Received) => [each.method, each]));
}

const withStatus = (capabilities: ReadonlyMap<string, Received>, status: string): Received[] =>
  [...capabilities.values()].filter((each) => each.status === status);

const remote = (permissions: readonly Permission[]): Principal => ({
  tenant: 'local',
  subject: 'somebody',
  permissions: new Set(permissions),
  isLocal: false,
});

test('everything declared is served, and nothing else', async () => {
  const server = await startApp();
  const client = await server.connect(EXPERIMENTAL);
  expect(client.transcript[0]!.result.server.features).toContain('serverCapabilities');
  const capabilities = await capabilitiesOf(client);
  const served = withStatus(capabilities, 'supported').map(({ method }) => method);
  expect(served).toEqual(DECLARED.toSorted());
  const missing = withStatus(capabilities, 'unsupported');
  expect(missing.length).toBeGreaterThan(10);
  for (const { method, reason } of missing) {
    const { code, data } = await client.refusal(method, {});
    expect({ method, code, reason: data.reason }).toEqual({ method, code: -32601, reason });
  }
});

test('it needs the experimental capability itself', async () => {
  const server = await startApp();
  const client = await server.connect();
  expect((await client.refusal('server/capabilities')).message).toMatch(/requires experimentalApi capability/);
});

test('a missing permission is named, and asked for', async () => {
  const server = await startApp({ config: { remote: { roots: ['/'] } } });
  const client = await server.connectAs(remote(['thread:read', 'config']), EXPERIMENTAL);
  const forbidden = withStatus(await capabilitiesOf(client), 'forbidden');
  expect(new Set(forbidden.map(({ permission }) => permission))).toEqual(
    new Set(['thread:write', 'approval:resolve', 'fs', 'process', 'admin']),
  );
  for (const { method, permission } of forbidden)
    expect({ method, data: (await client.refusal(method, {})).data }).toEqual({
      method,
      data: expect.objectContaining({ kind: 'forbidden', permission }),
    });
});

/** One request each that would be carried out if the folder were within the roots. */
function requestsBelow(path: string): Readonly<Record<string, object>> {
  const command = ['true'];
  return {
    'command/exec': { command, cwd: path },
    'fs/copy': { sourcePath: path, destinationPath: `${path}/copy`, recursive: true },
    'fs/createDirectory': { path: `${path}/new` },
    'fs/getMetadata': { path },
    'fs/readDirectory': { path },
    'fs/readFile': { path: `${path}/file` },
    'fs/remove': { path: `${path}/file` },
    'fs/watch': { path, watchId: 'one' },
    'fs/writeFile': { path: `${path}/file`, dataBase64: '' },
    fuzzyFileSearch: { query: 'file', roots: [path] },
    'fuzzyFileSearch/sessionStart': { sessionId: 'one', roots: [path] },
    'process/spawn': { command, cwd: path, processHandle: 'one' },
    'thread/start': { cwd: path },
  };
}

test('without roots remote people are kept from folders, by the policy that is named', async () => {
  const server = await startApp();
  const client = await server.connectAs(remote(PERMISSIONS), EXPERIMENTAL);
  const forbidden = withStatus(await capabilitiesOf(client), 'forbidden');
  const attempts = requestsBelow(server.workspace);
  expect(forbidden.map(({ method, policy }) => [method, policy])).toEqual(
    Object.keys(attempts)
      .toSorted()
      .map((method) => [method, 'remote.roots']),
  );
  for (const [method, params] of Object.entries(attempts))
    expect([method, (await client.refusal(method, params)).data.kind]).toEqual([method, 'forbidden']);
});

test('with a root they are not', async () => {
  const server: RunningApp = await startApp({ config: { remote: { roots: ['/'] } } });
  const client = await server.connectAs(remote(PERMISSIONS), EXPERIMENTAL);
  expect(withStatus(await capabilitiesOf(client), 'forbidden')).toEqual([]);
});

test('without a backend what has a model work is gated by that setting', async () => {
  const server = await startApp({ backend: 'unavailable' });
  const client = await server.connect(EXPERIMENTAL);
  const gated = withStatus(await capabilitiesOf(client), 'gated');
  expect(gated.map((each) => [each.method, each.switch])).toEqual([
    ['review/start', 'backend'],
    ['thread/compact/start', 'backend'],
    ['thread/queue/start', 'backend'],
    ['turn/start', 'backend'],
  ]);
  const turn = await runTurn(client, await startThread(client), 'say one');
  expect(turn.status).toBe('failed');
});
