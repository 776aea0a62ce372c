// Secrets stay where they belong: in files of 0600 and with those whom they are for; in no log, history, error, answer or argument.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { LoginServer } from '../harness/login-server.ts';
import { type ModelServer, startModelServer, status } from '../harness/model-server.ts';
import { Program, scratch } from './executable.ts';

const SCRIPT = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));
const KEY = 'sk-marker-key-0123456789';
const BEARER = 'marker-bearer-0123456789';
const OF_PROGRAM = 'marker-env-0123456789';
const FLAG = 'marker-flag-0123456789';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

/** Refuses everyone, and repeats what it was given, as some servers do. */
async function refusing(): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(403).end(`not allowed: ${request.headers.authorization}`);
  });
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name));

test('markers are nowhere but in the files of secrets, over log-in, turns, refusals, a crash and the finest log', async () => {
  const model: ModelServer = await startModelServer(
    status(401, { error: { message: `Incorrect API key provided: ${KEY}` } }),
  );
  const login = await LoginServer.start();
  open.push(model, login);
  const data = scratch();
  const mcp_servers = {
    program: { command: process.execPath, args: [SCRIPT, 'good'], env: { OWN_SECRET: OF_PROGRAM } },
    worded: { command: process.execPath, args: [SCRIPT, 'good', '--api-key', FLAG] },
    refusing: { url: await refusing(), bearer_token_env_var: 'TEST_BEARER' },
    far: { url: login.url },
  };
  const providers = { own: { name: 'Own', base_url: model.baseUrl, wire_api: 'responses', request_max_retries: 0 } };
  const config = {
    mcp_servers,
    model: 'm',
    model_provider: 'own',
    model_providers: providers,
    mcp_oauth_credentials_store: 'file',
  };
  writeFileSync(join(data, 'config.yaml'), JSON.stringify(config));
  const server = new Program(['app-server', '--backend', 'runtime', '--data-dir', data], {
    environment: { HEDDLE_LOG: 'trace', TEST_BEARER: BEARER },
  });
  let last = 0;
  const ask = async (method: string, params: object = {}) => {
    const id = ++last;
    server.write({ id, method, params });
    const [line] = await server.said('stdout', new RegExp(`^.*"id":${id},"(?:result|error)".*$`, 'm'));
    return JSON.parse(line);
  };
  await ask('initialize', {
    clientInfo: { name: 'test', title: null, version: '1' },
    capabilities: { experimentalApi: true },
  });
  server.write({ method: 'initialized' });
  await ask('account/login/start', { type: 'apiKey', apiKey: KEY, provider: 'own' });
  const { result } = await ask('thread/start', {
    cwd: scratch(),
    approvalPolicy: 'never',
    sandbox: 'danger-full-access',
  });
  const threadId = result.thread.id;
  for (const name of ['program', 'worded']) await server.said('stdout', new RegExp(`"name":"${name}"[^\n]*"ready"`));
  for (const name of ['refusing', 'far']) await server.said('stdout', new RegExp(`"name":"${name}"[^\n]*"failed"`));
  const { result: begun } = await ask('mcpServer/oauth/login', { name: 'far' });
  await fetch(begun.authorizationUrl);
  await server.said('stdout', /"name":"far"[^\n]*"ready"/);
  // Renewed once, so that both tokens have been in use.
  login.accessToken = 'revoked';
  await ask('mcpServer/tool/call', { threadId, server: 'far', tool: 'far' });
  const seen = await ask('mcpServer/tool/call', { threadId, server: 'program', tool: 'environment' });
  const given = JSON.parse(seen.result.content[0].text);
  expect(given.OWN_SECRET).toBe(OF_PROGRAM);
  expect(JSON.stringify(given)).not.toContain(BEARER);
  server.stdout = server.stdout.replaceAll(OF_PROGRAM, ''); // its own program has told it
  await ask('turn/start', { threadId, input: [{ type: 'text', text: 'hello' }] });
  await server.said('stdout', /"method":"turn\/completed"/);
  expect(model.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  for (const method of ['config/read', 'configRequirements/read', 'mcpServerStatus/list']) await ask(method);
  expect((await ask('config/read', { model: [KEY] })).error ?? null).toBeDefined();
  for (const [name, value] of Object.entries({ KEY, BEARER, OF_PROGRAM, FLAG }))
    if (name !== 'FLAG') expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain(value);
  server.child.kill('SIGKILL');
  await server.ended;

  const markers = [KEY, BEARER, OF_PROGRAM, FLAG, 'secret-access-', 'secret-refresh-'];
  const within = (text: string) => markers.filter((marker) => text.includes(marker));
  expect(server.stderr.length).toBeGreaterThan(0);
  expect(within(server.stdout), 'messages').toEqual([]);
  expect(within(server.stderr), 'log').toEqual([]);
  for (const file of filesBelow(data)) {
    const found = within(readFileSync(file, 'latin1'));
    if (/(?:auth|mcp-auth)\.json$/.test(file)) expect(statSync(file).mode & 0o777, file).toBe(0o600);
    else if (!file.endsWith('config.yaml')) expect(found, file).toEqual([]);
  }
});
