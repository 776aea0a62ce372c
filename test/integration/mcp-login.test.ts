// Logging in to MCP servers: once by a browser, refreshed once for all, and a state of its own where it fails.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { LoginServer } from '../harness/login-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { startThread } from '../harness/turns.ts';

let login: LoginServer | undefined;
afterEach(async () => {
  await cleanUp();
  login?.close();
});

const STATUS = 'mcpServer/startupStatus/updated';
const ENDED = 'mcpServer/oauthLogin/completed';
const FROM_AFAR = { content: [{ type: 'text', text: 'from afar' }] };

const told = (client: TestClient, status: string) =>
  client.notified(STATUS, (params) => params.name === 'far' && params.status === status);

const call = (client: TestClient, threadId: string) =>
  client.request('mcpServer/tool/call', { threadId, server: 'far', tool: 'far' });

async function started() {
  login = await LoginServer.start();
  const server = await startApp({
    config: {
      mcp_oauth_credentials_store: 'file',
      mcp_servers: { far: { url: login.url }, near: { command: 'true' } },
    },
  });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace });
  return { far: login, server, client, threadId };
}

/** As the browser of the user does. */
async function loggedIn(client: TestClient) {
  const begun = await client.request('mcpServer/oauth/login', { name: 'far', scopes: ['read'] });
  const page = await fetch(begun.authorizationUrl);
  return { loginId: begun.loginId, authorizationUrl: begun.authorizationUrl, page: await page.text() };
}

test('a server that asks who we are is a state, and a log-in connects it for the threads that are there', async () => {
  const { far, server, client, threadId } = await started();
  expect(await told(client, 'failed')).toMatchObject({ name: 'far', failureReason: 'reauthenticationRequired' });
  const { loginId, authorizationUrl, page } = await loggedIn(client);
  expect(new URL(authorizationUrl).searchParams.get('scope')).toBe('read');
  expect(page).toContain('done');
  expect(await client.notified(ENDED)).toEqual({ name: 'far', threadId: null, loginId, success: true });
  await told(client, 'ready');
  expect(await call(client, threadId)).toEqual(FROM_AFAR);
  const { data } = await client.request('mcpServerStatus/list', { threadId, serverName: 'far' });
  expect(data).toMatchObject([{ authStatus: 'oAuth', heddle: { authenticated: true, callable: true } }]);
  const file = join(server.dataDirectory, 'mcp-auth.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).toContain(far.accessToken);
  expect(JSON.stringify(client.transcript)).not.toContain('secret-');
  await server.restart();
  const again = await server.connect({ experimentalApi: true });
  await again.request('thread/resume', { threadId });
  expect(await call(again, threadId)).toEqual(FROM_AFAR);
});

test('a token is refreshed once for many calls at once, and before it ends', async () => {
  const { far, client, threadId } = await started();
  await told(client, 'failed');
  far.expiresIn = 1;
  await loggedIn(client);
  await client.notified(ENDED);
  await told(client, 'ready');
  expect(far.refreshes).toBeGreaterThan(0);
  far.expiresIn = undefined;
  await call(client, threadId);
  const before = far.refreshes;
  far.accessToken = 'revoked';
  const answers = await Promise.all(Array.from({ length: 8 }, () => call(client, threadId)));
  expect(answers).toEqual(Array.from({ length: 8 }, () => FROM_AFAR));
  expect(far.refreshes).toBe(before + 1);
});

test('a token that nothing renews is a state with an event, and a new log-in helps', async () => {
  const { far, client, threadId } = await started();
  await told(client, 'failed');
  await loggedIn(client);
  await told(client, 'ready');
  far.accessToken = 'revoked';
  far.refreshToken = 'revoked';
  const before = client.news(STATUS).length;
  await expect(call(client, threadId)).rejects.toThrow('401');
  const ofFar = client
    .news(STATUS)
    .slice(before)
    .filter(({ name }) => name === 'far');
  expect(ofFar).toMatchObject([{ status: 'failed', failureReason: 'reauthenticationRequired' }]);
  const { loginId } = await loggedIn(client);
  await client.notified(ENDED, (params) => params.loginId === loginId);
  expect(await call(client, threadId)).toEqual(FROM_AFAR);
});

test('a log-in that is refused says so, and what belongs to another one does not end it', async () => {
  const { far, client } = await started();
  await told(client, 'failed');
  far.refuses = true;
  const begun = await client.request('mcpServer/oauth/login', { name: 'far' });
  const callback = new URL(new URL(begun.authorizationUrl).searchParams.get('redirect_uri') ?? '');
  callback.searchParams.set('state', 'of another');
  callback.searchParams.set('code', 'stolen');
  expect((await fetch(callback)).status).toBe(404);
  expect(client.news(ENDED)).toEqual([]);
  await fetch(begun.authorizationUrl);
  expect(await client.notified(ENDED)).toMatchObject({
    ...{ loginId: begun.loginId, success: false },
    error: expect.stringContaining('access_denied'),
  });
  await expect(client.request('mcpServer/oauth/login', { name: 'near' })).rejects.toThrow('is a program');
  await expect(client.request('mcpServer/oauth/login', { name: 'gone' })).rejects.toThrow("unknown MCP server 'gone'");
});

test('who we are is said by a document of ours where the server takes one, and by a registration else', async () => {
  login = await LoginServer.start();
  const document = 'https://example.com/heddle/client.json';
  const servers = { far: { url: login.url, oauth_client_metadata_url: document }, plain: { url: login.url } };
  const server = await startApp({ config: { mcp_oauth_credentials_store: 'file', mcp_servers: servers } });
  const client = await server.connect({ experimentalApi: true });
  const clientOf = async (params: object) => {
    const { authorizationUrl } = await client.request('mcpServer/oauth/login', { name: 'far', ...params });
    return new URL(authorizationUrl).searchParams.get('client_id');
  };
  expect(await clientOf({})).toBe('client-1');
  await expect(clientOf({ clientRegistration: 'cimd' })).rejects.toThrow('client_id_metadata_document_supported');
  await expect(clientOf({ name: 'plain', clientRegistration: 'cimd' })).rejects.toThrow('oauth_client_metadata_url');
  login.takesDocuments = true;
  const before = login.registrations;
  expect(await clientOf({})).toBe(document);
  expect(await clientOf({ clientRegistration: 'cimd' })).toBe(document);
  expect(login.registrations).toBe(before);
  expect(await clientOf({ clientRegistration: 'dcr' })).toBe(`client-${before + 1}`);
  const { authorizationUrl, loginId } = await client.request('mcpServer/oauth/login', { name: 'far' });
  await fetch(authorizationUrl);
  expect(await client.notified(ENDED, (params) => params.loginId === loginId)).toMatchObject({ success: true });
});
