// MCP servers of the built executable: what they print stays theirs, and they end with the server, however that ends.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { LoginServer } from '../harness/login-server.ts';
import { programsWith } from '../harness/processes.ts';
import { hasSecretService, startSecretService } from '../harness/secret-service.ts';
import { eventually } from '../unit/children/waiting.ts';
import { Program, scratch } from './executable.ts';

const SCRIPT = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));

test.each(['SIGKILL', 'SIGTERM'] as const)('after %s nothing of them is left', async (signal) => {
  const mark = `mark-${process.pid}-${signal}`;
  const data = scratch();
  const program = (manner: string) => ({ command: process.execPath, args: [SCRIPT, manner, mark] });
  const mcp_servers = { child: program('child'), banner: program('banner'), stderr: program('stderr') };
  writeFileSync(join(data, 'config.yaml'), JSON.stringify({ mcp_servers }));
  const server = new Program(['app-server', '--backend', 'mock', '--data-dir', data]);
  const clientInfo = { name: 'test', title: null, version: '1' };
  server.write(
    { id: 1, method: 'initialize', params: { clientInfo } },
    { method: 'initialized' },
    { id: 2, method: 'thread/start', params: { cwd: scratch() } },
  );
  const [, threadId] = await server.said('stdout', /"id":2,"result":\{"thread":\{"id":"([^"]+)"/);
  for (const name of Object.keys(mcp_servers)) await server.said('stdout', new RegExp(`"name":"${name}"[^\n]*"ready"`));
  const input = [{ type: 'text', text: 'call mcp__banner__work {}' }];
  server.write({ id: 3, method: 'turn/start', params: { threadId, input } });
  await server.said('stdout', /"method":"turn\/completed"/);
  expect(server.stdout).toContain('worked');
  expect(programsWith(mark)).toBe(3);
  server.child.kill(signal);
  await server.ended;
  const lines = server.stdout.split('\n');
  expect(lines.pop()).toBe('');
  for (const line of lines) expect(JSON.parse(line)).toBeTypeOf('object');
  await eventually('the end of all of them', () => programsWith(mark) === 0);
});

test.runIf(hasSecretService)('a log-in is found in the keyring by the next process', async () => {
  const [keyring, far, data] = [await startSecretService(), await LoginServer.start(), scratch()];
  try {
    const config = { mcp_oauth_credentials_store: 'keyring', mcp_servers: { far: { url: far.url } } };
    writeFileSync(join(data, 'config.yaml'), JSON.stringify(config));
    const started = () => {
      const environment = { DBUS_SESSION_BUS_ADDRESS: keyring.address };
      const server = new Program(['app-server', '--backend', 'mock', '--data-dir', data], { environment });
      const clientInfo = { name: 'test', title: null, version: '1' };
      const thread = { id: 2, method: 'thread/start', params: { cwd: scratch() } };
      server.write({ id: 1, method: 'initialize', params: { clientInfo } }, { method: 'initialized' }, thread);
      return server;
    };
    const first = started();
    await first.said('stdout', /"name":"far"[^\n]*"reauthenticationRequired"/);
    first.write({ id: 3, method: 'mcpServer/oauth/login', params: { name: 'far' } });
    const [, address = ''] = await first.said('stdout', /"authorizationUrl":"([^"]+)"/);
    await fetch(address);
    await first.said('stdout', /"name":"far"[^\n]*"ready"/);
    first.child.stdin.end();
    await first.ended;
    expect(existsSync(join(data, 'mcp-auth.json'))).toBe(false);
    const second = started();
    await second.said('stdout', /"name":"far"[^\n]*"ready"/);
    expect(second.stdout).not.toContain('reauthenticationRequired');
    second.child.stdin.end();
    await second.ended;
  } finally {
    far.close();
    await keyring.close();
  }
});
