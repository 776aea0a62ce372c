// Log-ins at MCP servers in the keyring of the system: a real one where it is installed, and what happens where there is none.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LoginServer } from '../harness/login-server.ts';
import { hasSecretService, type SecretService, startSecretService } from '../harness/secret-service.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { startThread } from '../harness/turns.ts';

const before = process.env.DBUS_SESSION_BUS_ADDRESS;
let far: LoginServer | undefined;
afterEach(async () => {
  await cleanUp();
  far?.close();
  far = undefined;
});
afterAll(() => {
  if (before === undefined) delete process.env.DBUS_SESSION_BUS_ADDRESS;
  else process.env.DBUS_SESSION_BUS_ADDRESS = before;
});

const STATUS = 'mcpServer/startupStatus/updated';
const ENDED = 'mcpServer/oauthLogin/completed';

const told = (client: TestClient, status: string) =>
  client.notified(STATUS, (params) => params.name === 'far' && params.status === status);

const call = (client: TestClient, threadId: string) =>
  client.request('mcpServer/tool/call', { threadId, server: 'far', tool: 'far' });

async function started(store: string) {
  far = await LoginServer.start();
  const settings = { mcp_oauth_credentials_store: store, mcp_servers: { far: { url: far.url } } };
  const server = await startApp({ config: settings });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace });
  await told(client, 'failed');
  return { server, client, threadId, file: join(server.dataDirectory, 'mcp-auth.json') };
}

async function logIn(client: TestClient) {
  const { authorizationUrl, loginId } = await client.request('mcpServer/oauth/login', { name: 'far' });
  await fetch(authorizationUrl);
  expect(await client.notified(ENDED, (params) => params.loginId === loginId)).toMatchObject({ success: true });
  await told(client, 'ready');
}

describe.runIf(hasSecretService)('with a keyring', () => {
  let service: SecretService;
  beforeAll(async () => {
    service = await startSecretService();
    process.env.DBUS_SESSION_BUS_ADDRESS = service.address;
  });
  afterAll(() => service?.close());

  test.each(['keyring', 'auto'])('a log-in is kept in it under %s, over a restart, and nowhere else', async (store) => {
    const { server, client, threadId, file } = await started(store);
    await logIn(client);
    expect(await call(client, threadId)).toMatchObject({ content: [{ text: 'from afar' }] });
    expect(existsSync(file)).toBe(false);
    await server.restart();
    const again = await server.connect({ experimentalApi: true });
    await again.request('thread/resume', { threadId });
    expect(await call(again, threadId)).toMatchObject({ content: [{ text: 'from afar' }] });
    far!.accessToken = 'revoked';
    expect(await call(again, threadId)).toMatchObject({ content: [{ text: 'from afar' }] });
    expect(far!.refreshes).toBe(1);
    expect(existsSync(file)).toBe(false);
  });

  test('a log-in moves from the file into it when it is renewed', async () => {
    const { client, threadId, file } = await started('file');
    await logIn(client);
    expect(readFileSync(file, 'utf8')).toContain('secret-access');
    await client.request('config/value/write', {
      ...{ keyPath: 'mcp_oauth_credentials_store', value: 'auto', mergeStrategy: 'replace' },
    });
    far!.accessToken = 'revoked';
    await call(client, threadId);
    expect(readFileSync(file, 'utf8')).not.toContain('secret-');
    await call(client, threadId);
  });
});

describe('without a keyring', () => {
  beforeAll(() => {
    process.env.DBUS_SESSION_BUS_ADDRESS = 'unix:path=/nonexistent/bus';
  });

  test('a log-in is kept in a file that only its owner reads', async () => {
    const { client, threadId, file } = await started('auto');
    await logIn(client);
    await call(client, threadId);
    expect(readFileSync(file, 'utf8')).toContain(far!.accessToken);
  });

  test('nobody is sent to a browser where it has to be one', async () => {
    const { client, file } = await started('keyring');
    await expect(client.request('mcpServer/oauth/login', { name: 'far' })).rejects.toThrow(
      /the keyring of the system cannot be used \(.+\); mcp_oauth_credentials_store may be `auto` or `file`/,
    );
    expect(existsSync(file)).toBe(false);
    const { data } = await client.request('mcpServerStatus/list', { serverName: 'far' });
    expect(data).toMatchObject([{ authStatus: 'notLoggedIn' }]);
  });
});
