// Profiles that deny reading by patterns, or let only some paths be read: held by commands, by the tools of this process, and by fs/*.

import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Permission, Principal } from '../../src/auth/principal.ts';
import { callingModel, type ToolUse } from '../harness/calling-model.ts';
import { trySandbox } from '../harness/sandbox.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';

const state = await trySandbox();
if (!state.isAvailable) console.warn(`NOT TESTED: profiles that deny reading, in a sandbox: ${state.reason}`);
afterEach(cleanUp);

const KEY = 'the key';
/** One point, as PNG. */
const DOT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const command = (cmd: string): ToolUse => ['exec_command', { cmd, login: false, yield_time_ms: 30_000 }];
const patch = (body: string): ToolUse => ['apply_patch', { input: `*** Begin Patch\n${body}\n*** End Patch` }];

async function started(filesystem: object, thread: object = {}) {
  const mine = { extends: ':workspace', filesystem };
  const calling = await callingModel(
    { sandbox: null, approvalPolicy: 'never', permissions: 'mine', ...thread },
    { config: { permissions: { mine } } },
  );
  const { workspace } = calling.server;
  const at = (name: string) => join(workspace, name);
  const file = async (name: string, content: string | Buffer = KEY) => {
    await mkdir(dirname(at(name)), { recursive: true });
    await writeFile(at(name), content);
  };
  const run = async (...calls: ToolUse[]) => (await calling.run(calls)).outputs;
  return { ...calling, at, file, run, workspace };
}

describe.skipIf(!state.isAvailable)('what a pattern denies', () => {
  test('is read by no tool of a model, nor written, moved or uncovered', async () => {
    const { run, file, at, client, threadId, workspace } = await started({
      ':workspace_roots': { '**/*.key': 'deny', '**/*.{env,png}': 'deny' },
    });
    await file('a/b/one.key');
    await file('.env');
    await file('dot.png', DOT);
    await file('plain.bmp', DOT);
    await symlink('a/b/one.key', at('link'));
    await symlink('dot.png', at('other.bmp'));
    const [read, moved, later, images] = [
      await run(command('cat a/b/one.key .env link; grep -r key .; true')),
      await run(command('mv a z; mv z/b q; mv .env e; cat z/b/one.key q/one.key e; ls')),
      await run(command('cat a/b/one.key z/b/one.key z/q/one.key q/one.key e; true')),
      await run(
        ['view_image', { path: 'dot.png' }],
        ['view_image', { path: 'other.bmp' }],
        ['view_image', { path: 'plain.bmp' }],
      ),
    ];
    for (const seen of [...read, ...moved, ...later]) expect(seen).not.toContain(KEY);
    expect(images.slice(0, 2)).toEqual([
      expect.stringContaining('out of reach'),
      expect.stringContaining('out of reach'),
    ]);
    expect(JSON.stringify(images[2])).toContain('image');
    for (const body of [
      '*** Update File: .env\n@@\n-the key\n+mine',
      '*** Delete File: link',
      '*** Add File: new.key\n+x',
    ])
      await run(patch(body));
    const refusals = client.news('warning').filter(({ message }) => message.includes('out of reach'));
    expect(refusals).toHaveLength(3);
    expect(await readFile(at('.env'), 'utf8')).toBe(KEY);
    const files = ['.env', 'x/later.key', 'plain.bmp', join(workspace, 'other.bmp')];
    const { files: explained } = await client.request('policy/explain', { threadId, files });
    expect(explained.map(({ standing }: { standing: string }) => standing)).toEqual([
      'hidden',
      'hidden',
      'workspace',
      'hidden',
    ]);
  });

  test('holds for command/exec too, and lets nothing start when it cannot be found out', async () => {
    const { file, client, workspace, run, at } = await started({ ':workspace_roots': { '**/*.key': 'deny' } });
    await file('one.key');
    const exec = (line: string) =>
      client.request('command/exec', { command: ['/bin/sh', '-c', line], cwd: workspace, permissionProfile: 'mine' });
    expect(JSON.stringify(await exec('cat one.key; echo end'))).toMatch(/^(?!.*the key).*end/);
    for (let each = 0; each < 310; each++) await file(`many/${each}.key`);
    expect((await run(command('cat one.key; echo started')))[0]).toMatch(/^(?!.*started\n).*more than 300 matches/s);
    expect(
      String(await client.refusal('command/exec', { command: ['true'], cwd: workspace, permissionProfile: 'mine' })),
    ).toContain('300 matches');
    // What is read in this process is held to it as well.
    await run(patch('*** Add File: plain\n+x'));
    expect(client.news('warning').some(({ message }) => message.includes('out of reach'))).toBe(true);
    await rename(at('many'), join(await temporaryFolder(), 'many'));
    expect(await run(command('cat one.key; echo started'))).toEqual([
      expect.stringMatching(/^(?!.*the key).*started\n/s),
    ]);
  });
});

describe.skipIf(!state.isAvailable)('where only some paths can be read', () => {
  const restricted = (paths: object) => ({ ':root': 'deny', ':minimal': 'read', ...paths });

  test('no tool of a model reads others, and people can let it', async () => {
    const [shared, secret] = [await temporaryFolder(), await temporaryFolder()];
    await writeFile(join(shared, 'a'), 'open\n');
    await writeFile(join(secret, 'a'), KEY);
    await writeFile(join(secret, 'dot.png'), DOT);
    const rig = await started(restricted({ [shared]: 'read' }), { approvalPolicy: 'on-request' });
    await symlink(secret, rig.at('way'));
    const look = command(`cat ${shared}/a; cat ${secret}/a way/a; ls /; echo made > here; cat here`);
    const [seen = ''] = await rig.run(look);
    expect(seen).toMatch(/open\n(.*\n)*made\n/);
    expect(seen).not.toMatch(/the key|\n(home|root|srv|opt)\n/);
    const [image] = await rig.run(['view_image', { path: 'way/dot.png' }]);
    expect(image).toContain('out of reach');
    await rig.run(patch(`*** Update File: ${secret}/a\n@@\n-the key\n+mine`));
    expect(rig.client.news('warning').some(({ message }) => message.includes('out of reach'))).toBe(true);

    const wish = ['request_permissions', { permissions: { file_system: { read: [secret] } } }] as const;
    const turnId = await rig.begin([wish, look, ['view_image', { path: 'way/dot.png' }]]);
    const question = await rig.client.asked((each) => each.turnId === turnId);
    question.answer({ permissions: question.params.permissions, scope: 'turn' });
    await rig.client.notified('turn/completed', ({ turn }) => turn.id === turnId);
    const [, again, shown] = rig.outputs();
    expect(again).toContain(KEY);
    expect(JSON.stringify(shown)).not.toContain('out of reach');
  });

  test('instructions of a project that cannot be read are none', async () => {
    const rig = await started(restricted({ ':workspace_roots': { '.': 'write', 'AGENTS.md': 'deny' } }));
    await rig.file('AGENTS.md', 'be nice');
    const inRoot = await rig.client.request('thread/start', { cwd: rig.workspace, permissions: 'mine' });
    expect(inRoot.instructionSources).toEqual([]);
    await rig.file('sub/AGENTS.md', 'be kind');
    const inSub = await rig.client.request('thread/start', { cwd: rig.at('sub'), permissions: ':workspace' });
    expect(inSub.instructionSources).toEqual([rig.at('sub/AGENTS.md')]);
  });
});

describe('files of remote clients', () => {
  const permissions: ReadonlySet<Permission> = new Set(['fs']);
  const somebody: Principal = { tenant: 'local', subject: 'someone', permissions, isLocal: false };

  async function remote(filesystem: object, more: object = {}) {
    const root = await temporaryFolder();
    for (const name of ['p/docs', 'q']) await mkdir(join(root, name), { recursive: true });
    for (const name of ['p/.env', 'p/a.key', 'p/docs/a', 'p/plain', 'q/plain']) await writeFile(join(root, name), KEY);
    await writeFile(join(root, 'target'), KEY);
    await symlink('../target', join(root, 'p/b.key'));
    const config = {
      default_permissions: 'mine',
      permissions: { mine: { filesystem } },
      remote: { roots: [root], ...more },
    };
    const client = await (await startApp({ config })).connectAs(somebody, { experimentalApi: true });
    const reads = async (name: string) => {
      const wish = { path: join(root, name) };
      return client.request('fs/readFile', wish).then(
        () => 'read',
        (error) => error.data.kind,
      );
    };
    return { root, client, reads };
  }

  test('are without what the default profile denies to every thread', async () => {
    const { root, client, reads } = await remote({
      ':root': 'read',
      ':workspace_roots': { '.env': 'deny', '**/*.key': 'deny' },
    });
    for (const name of ['p/.env', 'p/a.key', 'p/b.key']) expect(await reads(name), name).toBe('forbidden');
    for (const name of ['p/plain', 'q/plain', 'target']) expect(await reads(name), name).toBe('read');
    const { files } = await client.request('fuzzyFileSearch', { query: 'a', roots: [root] });
    expect(files.map(({ path }: { path: string }) => path).sort()).toEqual(
      expect.arrayContaining(['p/docs/a', 'p/plain']),
    );
    expect(JSON.stringify(files)).not.toContain('.key');
    const copy = { sourcePath: join(root, 'p'), destinationPath: join(root, 'copy'), recursive: true };
    await client.request('fs/copy', copy).catch(() => {});
    expect(await reads('copy/.env')).toBe('forbidden');
    expect(await readFile(join(root, 'copy/.env'), 'utf8').catch(() => 'missing')).toBe('missing');
    const write = { path: join(root, 'p/new.key'), dataBase64: '' };
    expect((await client.refusal('fs/writeFile', write)).data.kind).toBe('forbidden');
  });

  test('a folder with one that is denied is neither removed nor copied, nor is anything of it', async () => {
    const { root, client } = await remote({ ':root': 'read', ':workspace_roots': { '.env': 'deny' } });
    await mkdir(join(root, 'p/deep'));
    await rename(join(root, 'p/.env'), join(root, 'p/deep/.env'));
    const removal = await client.refusal('fs/remove', { path: join(root, 'p') });
    expect(removal.data.kind).toBe('permission_denied');
    for (const name of ['p/plain', 'p/docs/a', 'p/deep/.env'])
      expect(await readFile(join(root, name), 'utf8')).toBe(KEY);
    const copies = (from: string, to: string) =>
      client.refusal('fs/copy', { sourcePath: join(root, from), destinationPath: join(root, to), recursive: true });
    expect((await copies('p', 'q')).data.kind).toBe('permission_denied');
    expect(await readdir(join(root, 'q'))).toEqual(['plain']);
  });

  test('what is copied does not come to be where it would be denied', async () => {
    const { root, client } = await remote({ ':root': 'read', ':workspace_roots': { 'copy/docs/**': 'deny' } });
    const copies = (to: string) =>
      client.refusal('fs/copy', { sourcePath: join(root, 'p'), destinationPath: join(root, to), recursive: true });
    expect((await copies('copy')).data.kind).toBe('permission_denied');
    expect(await readdir(root)).not.toContain('copy');
    await mkdir(join(root, 'copy/docs'), { recursive: true });
    await writeFile(join(root, 'copy/docs/a'), 'mine');
    expect((await copies('copy')).data.kind).toBe('permission_denied');
    expect(await readdir(join(root, 'copy'))).toEqual(['docs']);
    expect(await readFile(join(root, 'copy/docs/a'), 'utf8')).toBe('mine');
  });

  test('are denied by the names of links on the way, and by patterns that begin at one', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'real/p'), { recursive: true });
    await mkdir(join(folder, 'other'));
    await symlink('real', join(folder, 'link'));
    const { root, client, reads } = await remote(
      { ':root': 'read', [join(folder, 'link/**/*.pem')]: 'deny', ':workspace_roots': { secrets: 'deny' } },
      { roots: [join(folder, 'link'), join(folder, 'other')] },
    );
    expect(root).not.toBe(folder);
    for (const name of ['real/p/x.pem', 'real/p/x.txt', 'other/x']) await writeFile(join(folder, name), KEY);
    await symlink('../other', join(folder, 'real/secrets'));
    await symlink('secrets', join(folder, 'real/byway'));
    const at = (name: string) => relative(root, join(folder, name));
    for (const name of ['real/p/x.pem', 'link/p/x.pem', 'link/secrets/x', 'real/secrets/x', 'link/byway/x'])
      expect(await reads(at(name)), name).toBe('forbidden');
    for (const name of ['real/p/x.txt', 'link/p/x.txt', 'other/x']) expect(await reads(at(name)), name).toBe('read');
    const inside = { path: join(folder, 'link/secrets/new'), dataBase64: '' };
    expect((await client.refusal('fs/writeFile', inside)).data.kind).toBe('forbidden');
  });

  test('are only what it lets every thread read', async () => {
    const { reads } = await remote({ ':minimal': 'read', ':workspace_roots': { docs: 'read' } });
    expect(await reads('p/docs/a')).toBe('read');
    for (const name of ['p/plain', 'p/.env', 'target']) expect(await reads(name), name).toBe('forbidden');
  });

  test('are all of them where remote clients may have full access', async () => {
    const { reads } = await remote({ ':minimal': 'read' }, { sandbox: 'danger-full-access' });
    expect(await reads('p/.env')).toBe('read');
  });
});
