// Configuration and threads together: what a write changes and what it leaves, projects, edits from outside, requirements.

import { chmod, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, type StartOptions, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';

afterEach(cleanUp);

const write = (client: TestClient, keyPath: string, value: unknown): Promise<Received> =>
  client.request('config/value/write', { keyPath, value, mergeStrategy: 'replace' });

const start = (client: TestClient, params: object = {}): Promise<Received> =>
  client.request('thread/start', { cwd: null, ...params });

describe('a write', () => {
  test('counts for new threads; a loaded one keeps its settings, and is named', async () => {
    const server = await startApp({ config: { model: 'before' } });
    const client = await server.connect();
    const { thread } = await start(client);
    expect(await write(client, 'model', 'after')).toMatchObject({ frozenThreads: [thread.id] });
    expect((await client.request('thread/resume', { threadId: thread.id })).model).toBe('before');
    expect((await start(client)).model).toBe('after');
    expect(client.news('configWarning')).toEqual([]);
  });

  test('a hundred at once are all in the file', async () => {
    const server = await startApp();
    const clients = await Promise.all([server.connect(), server.connect(), server.connect()]);
    const writes = Array.from({ length: 100 }, (_, index) => write(clients[index % 3]!, `many.k${index}`, index));
    await Promise.all(writes);
    const { config } = await clients[0]!.request('config/read', {});
    expect(Object.keys(config.many)).toHaveLength(100);
  });
});

describe('a project', () => {
  test('is heard from the moment on that its folder is trusted', async () => {
    const server = await startApp({ config: { model: 'mine' } });
    const client = await server.connect();
    await mkdir(join(server.workspace, '.heddle'));
    await writeFile(
      join(server.workspace, '.heddle', 'config.toml'),
      'model = "theirs"\nsandbox_mode = "danger-full-access"\n',
    );
    expect(await start(client)).toMatchObject({ model: 'mine', sandbox: { type: 'readOnly' } });
    await write(client, `projects."${server.workspace}".trust_level`, 'trusted');
    expect(await start(client)).toMatchObject({ model: 'theirs', sandbox: { type: 'workspaceWrite' } });
    const read = await client.request('config/read', { cwd: server.workspace, includeLayers: true });
    const type = 'project';
    expect(read.origins.model.name).toEqual({ type, dotCodexFolder: join(server.workspace, '.heddle') });
    expect(read.layers.map((layer: Received) => layer.name.type)).toEqual(['sessionFlags', 'project', 'user']);
    expect(read.config.projects[server.workspace]).toEqual({ trust_level: 'trusted' });
  });
});

describe('what a project gets wrong', () => {
  test('is told to the client that works there, once, and to no other', async () => {
    const server = await startApp();
    const [client, other] = [await server.connect(), await server.connect()];
    const file = join(server.workspace, '.heddle', 'config.toml');
    await mkdir(join(server.workspace, '.heddle'));
    await write(client, `projects."${server.workspace}".trust_level`, 'trusted');
    await writeFile(file, 'model = "theirs"\nsandbox_mode = "danger-full-access"\napproval_policy = "never"\n');
    await start(client);
    const ignored = await client.notified('configWarning', ({ details }) => details?.includes(file));
    expect(ignored.details).toContain('may not set sandbox_mode, approval_policy');
    await start(client);
    await writeFile(file, 'model = [broken\n');
    await expect(start(client)).rejects.toThrow('failed to load configuration');
    const broken = await client.notified('configWarning', ({ path }) => path === file);
    expect(broken.range.start.line).toBe(1);
    expect(client.news('configWarning')).toHaveLength(2);
    await other.settled();
    expect(other.news('configWarning')).toEqual([]);
  });
});

describe('two documents in the file', () => {
  test('are neither used nor written, and the place of the second is told', async () => {
    const server = await startApp();
    const client = await server.connect();
    const file = join(server.dataDirectory, 'config.yaml');
    const text = 'backend: mock\nmodel: one\n---\nmodel: two\n';
    await writeFile(file, text);
    await expect(write(client, 'model', 'three')).rejects.toThrow(/config\.yaml:\d:1: a second document begins here/);
    expect(await readFile(file, 'utf8')).toBe(text);
    await expect(start(client)).rejects.toThrow(/a second document/);
  });
});

describe('an edit from outside', () => {
  test('is noticed: what is wrong with it, and that loaded threads keep what they have', async () => {
    const server = await startApp();
    const client = await server.connect();
    await start(client);
    const file = join(server.dataDirectory, 'config.yaml');
    const put = async (text: string) => {
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    };
    await put('backend: mock\nmodel: [\n');
    await client.notified('configWarning', ({ range }) => range?.start.line === 3);
    await expect(start(client)).rejects.toThrow('failed to load configuration');
    await put('backend: mock\nmodel: edited\n');
    await client.notified('configWarning', ({ summary }) => /loaded keep the settings/.test(summary));
    expect((await start(client)).model).toBe('edited');
  });
});

describe('a file that is a link', () => {
  test('is followed: edits of what it leads to are told, and that it leads elsewhere', async () => {
    const server = await startApp();
    const client = await server.connect();
    const [file, elsewhere] = [join(server.dataDirectory, 'config.yaml'), await temporaryFolder()];
    const put = (name: string, model: string) =>
      writeFile(join(elsewhere, name), model === '' ? 'model: [\n' : `backend: mock\nmodel: ${model}\n`);
    const lead = async (name: string) => {
      await symlink(join(elsewhere, name), `${file}.new`);
      await rename(`${file}.new`, file);
    };
    await start(client);
    const told = (count: number) =>
      client.message(() => client.news('configWarning').length >= count, `warning number ${count}`);
    await put('one.yaml', 'one');
    await lead('one.yaml');
    await told(1);
    await put('one.yaml', '');
    await client.notified('configWarning', ({ summary }) => /Invalid/.test(summary));
    await put('two.yaml', 'two');
    await lead('two.yaml');
    await client.message(() => /loaded keep/.test(client.news('configWarning').at(-1)?.summary), 'the second link');
    await put('two.yaml', '');
    await client.message(() => /Invalid/.test(client.news('configWarning').at(-1)?.summary), 'a broken target');
  });
});

describe('requirements', () => {
  const owner = process.getuid?.() ?? 0;
  const required = async (text: string): Promise<NonNullable<StartOptions['requirements']>> => {
    const file = join(await temporaryFolder(), 'requirements.toml');
    await writeFile(file, text, { mode: 0o644 });
    return { file, owner };
  };

  test('hold whatever clients and files say', async () => {
    const requirements = await required(
      'allowed_sandbox_modes = ["read-only", "workspace-write"]\nallowed_approval_policies = ["on-request"]\n',
    );
    const server = await startApp({ requirements, config: { sandbox_mode: 'danger-full-access' } });
    const client = await server.connect({ experimentalApi: true });
    await client.notified('configWarning', ({ details }) => details.includes('sandbox_mode'));
    const { thread, sandbox } = await start(client);
    expect(sandbox.type).toBe('workspaceWrite');
    const { id: threadId } = thread;
    const danger = { type: 'dangerFullAccess' };
    const input = [{ type: 'text', text: 'hello' }];
    for (const [method, params] of [
      ['thread/start', { sandbox: 'danger-full-access' }],
      ['thread/start', { permissions: ':danger-full-access' }],
      ['thread/start', { config: { sandbox_mode: 'danger-full-access' } }],
      ['thread/start', { approvalPolicy: 'never' }],
      ['thread/fork', { threadId, sandbox: 'danger-full-access' }],
      ['turn/start', { threadId, input, approvalPolicy: 'never' }],
      ['turn/start', { threadId, input, sandboxPolicy: danger }],
      ['command/exec', { command: ['true'], sandboxPolicy: danger }],
      ['command/exec', { command: ['true'], permissionProfile: ':danger-full-access' }],
    ] as const) {
      const refusal = await client.refusal(method, params);
      expect([method, refusal.data.kind]).toEqual([method, 'forbidden']);
    }
    await write(client, 'allowed_sandbox_modes', ['danger-full-access']);
    expect(await client.request('configRequirements/read')).toMatchObject({
      requirements: { allowedSandboxModes: ['read-only', 'workspace-write'], allowedApprovalPolicies: ['on-request'] },
    });
    const { data } = await client.request('permissionProfile/list', { cwd: server.workspace });
    expect(data.map(({ allowed }: Received) => allowed)).toEqual([true, true, false]);
    expect(data[2].reason).toContain(requirements.file);
  });

  test('limit the folders that may be written to, by where they lead', async () => {
    const [mine, other] = [await temporaryFolder(), await temporaryFolder()];
    await symlink(other, join(mine, 'link'));
    const requirements = await required(`allowed_writable_roots = ["${mine}"]\n`);
    const config = {
      sandbox_mode: 'workspace-write',
      sandbox_workspace_write: { writable_roots: [other, join(mine, 'more')] },
    };
    const server = await startApp({ requirements, config });
    const client = await server.connect({ experimentalApi: true });
    await client.notified('configWarning', ({ details }) => details.includes('sandbox_workspace_write'));
    const inside = await client.request('thread/start', { cwd: mine });
    expect(inside.sandbox).toMatchObject({ type: 'workspaceWrite', writableRoots: [join(mine, 'more')] });
    // Nobody has asked to write there: it is read.
    expect((await client.request('thread/start', { cwd: other })).sandbox).toMatchObject({ type: 'readOnly' });
    const { id: threadId } = inside.thread;
    const input = [{ type: 'text', text: 'hello' }];
    const wide = { type: 'workspaceWrite', writableRoots: [other] };
    for (const [method, params] of [
      ['thread/start', { cwd: other, sandbox: 'workspace-write' }],
      ['thread/start', { cwd: join(mine, 'link'), sandbox: 'workspace-write' }],
      ['thread/start', { cwd: mine, runtimeWorkspaceRoots: [other], sandbox: 'workspace-write' }],
      ['thread/start', { cwd: mine, sandbox: 'danger-full-access' }],
      ['thread/resume', { threadId, cwd: other }],
      ['turn/start', { threadId, input, sandboxPolicy: wide }],
      ['turn/start', { threadId, input, cwd: other }],
      ['command/exec', { command: ['true'], cwd: other }],
      ['command/exec', { command: ['true'], cwd: mine, sandboxPolicy: wide }],
    ] as const) {
      const refusal = await client.refusal(method, params);
      expect([method, refusal.data.kind]).toEqual([method, 'forbidden']);
    }
    expect(await client.request('configRequirements/read')).toMatchObject({
      requirements: { allowedSandboxModes: ['read-only', 'workspace-write'], allowedWritableRoots: [mine] },
    });
  });

  test('bind threads that were wider before', async () => {
    const first = await startApp({ config: { sandbox_mode: 'danger-full-access' } });
    const { thread } = await start(await first.connect());
    await first.close();
    const requirements = await required('allowed_sandbox_modes = ["read-only"]\n');
    const server = await startApp({ requirements, dataDirectory: first.dataDirectory });
    const client = await server.connect();
    await client.request('thread/resume', { threadId: thread.id });
    const refusal = await client.refusal('turn/start', { threadId: thread.id, input: [{ type: 'text', text: 'x' }] });
    expect(refusal.data.kind).toBe('forbidden');
  });

  test('keep a server from starting when others may change them', async () => {
    const requirements = await required('');
    await chmod(requirements.file, 0o666);
    const dataDirectory = await temporaryFolder();
    await expect(startApp({ requirements, dataDirectory })).rejects.toThrow('nobody else may write');
    expect(await readFile(join(dataDirectory, 'config.yaml'), 'utf8')).toBe('{"backend":"mock"}');
  });
});
