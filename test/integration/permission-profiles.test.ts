// Permission profiles of the configuration: who may choose them, and that commands are really held to them.

import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { callingModel, type ToolUse } from '../harness/calling-model.ts';
import { trySandbox } from '../harness/sandbox.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import { startThread } from '../harness/turns.ts';

const state = await trySandbox();
if (!state.isAvailable) console.warn(`NOT TESTED: permission profiles in a sandbox: ${state.reason}`);

let web: Server;
let port = 0;
beforeAll(async () => {
  web = createServer((asked, answer) => answer.end(`answer to ${asked.method} ${asked.url}\n`));
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  port = (web.address() as AddressInfo).port;
  return () => new Promise((resolve) => web.close(resolve));
});
afterEach(cleanUp);

const command = (cmd: string): ToolUse => ['exec_command', { cmd, login: false, yield_time_ms: 30_000 }];
const QUIET = { sandbox: null, approvalPolicy: 'never' };

async function started(mine: object, thread: object = {}) {
  const calling = await callingModel(
    { ...QUIET, permissions: 'mine', ...thread },
    { config: { permissions: { mine } } },
  );
  const { workspace } = calling.server;
  const run = async (cmd: string, params: object = {}) => {
    const { outputs } = await calling.run([command(cmd)], params);
    return outputs[0] ?? '';
  };
  return { ...calling, run, workspace, at: (name: string) => join(workspace, name) };
}

describe.skipIf(!state.isAvailable)('commands of a thread with a profile', () => {
  test('see nothing that is denied, write what they may, and nothing that is only read', async () => {
    const secret = await temporaryFolder();
    const data = await temporaryFolder();
    await writeFile(join(secret, 'key'), 'the key');
    const { run, at } = await started({
      extends: ':workspace',
      filesystem: {
        ...{ [secret]: 'deny', [join(secret, 'missing')]: 'deny', [data]: 'write' },
        ':workspace_roots': { docs: 'read', '.env': 'deny', later: 'read' },
      },
    });
    await mkdir(at('docs'));
    await writeFile(at('docs/a'), 'a');
    await writeFile(at('.env'), 'the key');
    await symlink(join(secret, 'key'), at('link'));
    const seen = await run(`cat ${secret}/key .env link; ls ${secret}; cp -r . ../copy; cat docs/a; true`);
    expect(seen).not.toContain('the key');
    expect(seen).toContain('\na');
    const written = await run(
      `echo 1 > new; echo 1 > ${data}/new; echo 1 > docs/a; mkdir later/x; mv .env e; mv docs d; ls -A`,
    );
    expect(await readFile(at('new'), 'utf8')).toBe('1\n');
    expect(await readFile(join(data, 'new'), 'utf8')).toBe('1\n');
    expect(await readFile(at('docs/a'), 'utf8')).toBe('a');
    expect(await readFile(at('.env'), 'utf8')).toBe('the key');
    expect(written).not.toContain('the key');
  });

  test('a patch is held to it as well, and an image that is denied is not shown', async () => {
    const { run, client, begin, at, threadId } = await started(
      { extends: ':workspace', filesystem: { ':workspace_roots': { docs: 'read', '.env': 'deny' } } },
      { approvalPolicy: 'on-request' },
    );
    await mkdir(at('docs'));
    await writeFile(at('.env'), 'KEY=1\n');
    const patch = (path: string): ToolUse => [
      'apply_patch',
      { input: `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch` },
    ];
    await run('true');
    const turnId = await begin([patch('docs/new')]);
    const question = await client.asked((each) => each.turnId === turnId);
    question.answer({ decision: 'decline' });
    await client.notified('turn/completed', ({ turn }) => turn.id === turnId);
    await begin([
      ['apply_patch', { input: '*** Begin Patch\n*** Update File: .env\n@@\n-KEY=1\n+KEY=2\n*** End Patch' }],
    ]);
    await client.notified('warning', ({ message }) => message.includes('out of reach'));
    expect(await readFile(at('.env'), 'utf8')).toBe('KEY=1\n');
    expect(await client.request('policy/explain', { threadId, files: ['docs/new', '.env', 'src'] })).toMatchObject({
      decision: 'deny',
      files: [{ standing: 'outside' }, { standing: 'hidden' }, { standing: 'workspace' }],
    });
  });

  test('reach the hosts that are listed, and nothing else', async () => {
    const { run, server } = await started({
      extends: ':workspace',
      network: { enabled: true, domains: { '127.0.0.1': 'allow' } },
    });
    expect(await run(`curl -sS http://127.0.0.1:${port}/a; curl -sSp http://127.0.0.1:${port}/b`)).toMatch(
      /answer to GET \/a\nanswer to GET \/b\n/,
    );
    const other = await run(`curl -sS --noproxy '' http://localhost:${port}/; curl -sS https://example.com/; echo end`);
    expect(other).toContain('does not list this host');
    expect(other).not.toContain('answer');
    const direct = await run(`curl -sS --noproxy '*' http://127.0.0.1:${port}/; echo end`);
    expect(direct).not.toContain('answer');
    const around = await run(`ls ${server.dataDirectory}/net; ls /run; cat /proc/net/dev | tail -n +3 | cut -d: -f1`);
    expect(around).toMatch(/\n *lo\n?$/);
  });

  test('have no network where hosts are listed but the network is off', async () => {
    const { run } = await started({ extends: ':workspace', network: { domains: { '127.0.0.1': 'allow' } } });
    expect(await run(`curl -sS --noproxy '*' http://127.0.0.1:${port}/; env | grep -ci proxy`)).not.toContain('answer');
  });

  test('also those of command/exec, on pipes and on a terminal', async () => {
    const { client, workspace } = await started({
      extends: ':read-only',
      network: { enabled: true, mode: 'limited', domains: { '127.0.0.1': 'allow' } },
    });
    const line = `curl -sS http://127.0.0.1:${port}/x; curl -sS -d y http://127.0.0.1:${port}/y; exit 3`;
    const exec = (more: object) =>
      client.request('command/exec', {
        ...{ command: ['/bin/sh', '-c', line], cwd: workspace, permissionProfile: 'mine', ...more },
      });
    const piped = await exec({});
    expect(piped).toMatchObject({ exitCode: 3, stdout: expect.stringContaining('answer to GET /x') });
    expect(piped.stdout).toContain('only read');
    expect(piped.stdout).not.toContain('POST');
    expect(await exec({ tty: true, processId: 'p' })).toMatchObject({ exitCode: 3 });
  });

  test('keep what is denied over a change of folders, a policy that is named again, and a restart', async () => {
    const { run, client, server, threadId, at } = await started({
      extends: ':workspace',
      filesystem: { ':workspace_roots': { '.env': 'deny' } },
    });
    await mkdir(at('sub'));
    await writeFile(at('sub/.env'), 'the key');
    await writeFile(at('.env'), 'the key');
    const { sandbox } = await client.request('thread/resume', { threadId });
    expect(sandbox).not.toHaveProperty('rules');
    expect(await run('cat .env', { sandboxPolicy: sandbox })).not.toContain('the key');
    expect(
      await run('cat .env ../.env', { cwd: at('sub'), runtimeWorkspaceRoots: [at('sub'), server.workspace] }),
    ).not.toContain('the key');
    await server.restart();
    const again = await server.connect({ experimentalApi: true });
    expect(await again.request('thread/resume', { threadId })).toMatchObject({
      activePermissionProfile: { id: 'mine', extends: ':workspace' },
    });
    const explained = await again.request('policy/explain', {
      threadId,
      files: ['.env', join(server.workspace, '.env')],
    });
    expect(explained.files).toMatchObject([{ standing: 'hidden' }, { standing: 'hidden' }]);
  });
});

test('all are listed, those that cannot be enforced with the reason, and threads cannot have these', async () => {
  const permissions = {
    zeta: { extends: ':workspace', description: 'Mine' },
    broken: { extends: 'nowhere', description: 'Broken' },
    open: { filesystem: { ':root': 'read', '/*.key': 'read' } },
  };
  const server = await startApp({ config: { permissions, default_permissions: 'zeta' } });
  const client = await server.connect({ experimentalApi: true });
  const { data } = await client.request('permissionProfile/list', {});
  expect(data.slice(3)).toEqual([
    {
      id: 'broken',
      description: 'Broken',
      allowed: false,
      reason: expect.stringContaining('undefined profile `nowhere`'),
    },
    { id: 'open', description: null, allowed: false, reason: expect.stringContaining('pattern') },
    { id: 'zeta', description: 'Mine', allowed: true, reason: null },
  ]);
  expect(await client.request('thread/start', {})).toMatchObject({
    activePermissionProfile: { id: 'zeta', extends: ':workspace' },
    sandbox: { type: 'workspaceWrite' },
  });
  for (const id of ['broken', 'open', 'none'])
    expect(await client.refusal('thread/start', { permissions: id })).toMatchObject({ code: -32602 });
  const both = { permissions: 'zeta', sandbox: 'read-only' };
  expect(String(await client.refusal('thread/start', both))).toContain('cannot be combined');
  const threadId = await startThread(client);
  const input = [{ type: 'text', text: 'say hello' }];
  const policy = { type: 'dangerFullAccess' };
  expect(
    String(await client.refusal('turn/start', { threadId, input, permissions: 'zeta', sandboxPolicy: policy })),
  ).toContain('cannot be combined');
  expect(await client.refusal('turn/start', { threadId, input, permissions: 'broken' })).toMatchObject({
    code: -32602,
  });
});
