// Every member of the protocol that names a path, as somebody remote would misuse it; a new one has to be put into the list.

import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { PERMISSIONS, type Principal } from '../../src/auth/principal.ts';
import { requests } from '../../src/protocol.ts';
import { cleanUp, type RunningApp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { startThread, text } from '../harness/turns.ts';

const SECRET = 'the-secret-words';

/** With all permissions but that of an administrator, who is held by nothing. */
const REMOTE: Principal = {
  tenant: 'local',
  subject: 'remote',
  permissions: new Set(PERMISSIONS.filter((each) => each !== 'admin')),
  isLocal: false,
};

interface Use {
  /** What is sent for a path; `thread` is one that the client may use. */
  readonly params: (path: string, thread: string) => object;
  /** `refused`: never taken. `blind`: answered, and of what lies there nothing is told. */
  readonly outcome: 'refused' | 'blind';
  /** Where a folder is meant, files of it are not tried. */
  readonly isFolder?: true;
}

const refused = (params: Use['params']): Use => ({ params, outcome: 'refused' });
const folder = (params: Use['params']): Use => ({ params, outcome: 'refused', isFolder: true });
const blind = (params: Use['params']): Use => ({ params, outcome: 'blind', isFolder: true });

const image = (path: string) => [{ type: 'localImage', path }];
const exec = { command: ['true'] };
const place = (cwd: string) => [{ environmentId: 'local', cwd }];
const roots = (path: string) => [{ environmentId: 'local', cwd: '.', runtimeWorkspaceRoots: [path] }];
const writing = (path: string) => ({ type: 'workspaceWrite', writableRoots: [path] });
const input = (threadId: string) => ({ threadId, input: text('say x') });

/** By method and member. */
const USES: Readonly<Record<string, Use>> = {
  'command/exec cwd': folder((cwd) => ({ ...exec, cwd })),
  'config/read cwd': blind((cwd) => ({ cwd, includeLayers: true })),
  'config/batchWrite filePath': refused((filePath) => ({ edits: [], filePath })),
  'config/value/write filePath': refused((filePath) => ({
    ...{ keyPath: 'model', value: 'x', mergeStrategy: 'replace', filePath },
  })),
  'fs/copy destinationPath': refused((destinationPath) => ({ sourcePath: at('free'), destinationPath })),
  'fs/copy sourcePath': refused((sourcePath) => ({
    // A link itself may be copied, and leads nowhere else then.
    ...{ sourcePath: `${sourcePath}/.`, destinationPath: at('copy'), recursive: true },
  })),
  'fs/createDirectory path': refused((path) => ({ path: `${path}/new` })),
  'fs/getMetadata path': refused((path) => ({ path })),
  'fs/readDirectory path': refused((path) => ({ path })),
  'fs/readFile path': refused((path) => ({ path })),
  'fs/remove path': refused((path) => ({ path: `${path}/new`, force: false })),
  'fs/watch path': refused((path) => ({ watchId: path, path })),
  'fs/writeFile path': refused((path) => ({ path, dataBase64: '' })),
  'fuzzyFileSearch roots': folder((path) => ({ query: 'x', roots: [path] })),
  'fuzzyFileSearch/sessionStart roots': folder((path) => ({ sessionId: path, roots: [path] })),
  'hooks/list cwds': blind((path) => ({ cwds: [path] })),
  'permissionProfile/list cwd': blind((cwd) => ({ cwd })),
  'policy/explain cwd': folder((cwd) => ({ command: 'ls', cwd })),
  'policy/explain files': folder((path, threadId) => ({ threadId, files: [`${path}/file`] })),
  'policy/explain sandboxPolicy.writableRoots': folder((path, threadId) => ({
    ...{ threadId, command: 'ls', sandboxPolicy: writing(path) },
  })),
  'process/spawn cwd': folder((cwd) => ({ ...exec, processHandle: cwd, cwd })),
  'skills/config/write path': blind((path) => ({ path, enabled: true })),
  'skills/extraRoots/set extraRoots': folder((path) => ({ extraRoots: [path] })),
  'skills/list cwds': blind((path) => ({ cwds: [path] })),
  'thread/fork cwd': folder((cwd, threadId) => ({ threadId, cwd })),
  'thread/fork path': refused((path, threadId) => ({ threadId, path })),
  'thread/fork runtimeWorkspaceRoots': folder((path, threadId) => ({ threadId, runtimeWorkspaceRoots: [path] })),
  'thread/list cwd': blind((cwd) => ({ cwd })),
  'thread/queue/add input.path': refused((path, threadId) => ({
    ...{ threadId, input: image(path), clientUserMessageId: path },
  })),
  'thread/queue/update input.path': refused((path, threadId) => ({
    ...{ threadId, queuedSubmissionId: 'x', input: image(path) },
  })),
  'thread/resume cwd': folder((cwd, threadId) => ({ threadId, cwd })),
  'thread/resume path': refused((path, threadId) => ({ threadId, path })),
  'thread/resume runtimeWorkspaceRoots': folder((path, threadId) => ({ threadId, runtimeWorkspaceRoots: [path] })),
  'thread/settings/update cwd': folder((cwd, threadId) => ({ threadId, cwd })),
  'thread/settings/update environments.cwd': folder((path, threadId) => ({ threadId, environments: place(path) })),
  'thread/settings/update environments.runtimeWorkspaceRoots': folder((path, threadId) => ({
    ...{ threadId, environments: roots(path) },
  })),
  'thread/settings/update runtimeWorkspaceRoots': folder((path, threadId) => ({
    ...{ threadId, runtimeWorkspaceRoots: [path] },
  })),
  'thread/settings/update sandboxPolicy.writableRoots': folder((path, threadId) => ({
    ...{ threadId, sandboxPolicy: writing(path) },
  })),
  'thread/start cwd': folder((cwd) => ({ cwd })),
  'thread/start environments.cwd': folder((path) => ({ environments: place(path) })),
  'thread/start environments.runtimeWorkspaceRoots': folder((path) => ({
    environments: [{ environmentId: 'local', cwd: at(''), runtimeWorkspaceRoots: [path] }],
  })),
  'thread/start runtimeWorkspaceRoots': folder((path) => ({ cwd: at(''), runtimeWorkspaceRoots: [path] })),
  'turn/settings/update environments.cwd': folder((path, threadId) => ({
    ...{ threadId, turnId: 'x', environments: place(path) },
  })),
  'turn/settings/update environments.runtimeWorkspaceRoots': folder((path, threadId) => ({
    ...{ threadId, turnId: 'x', environments: roots(path) },
  })),
  'turn/start cwd': folder((cwd, thread) => ({ ...input(thread), cwd })),
  'turn/start environments.cwd': folder((path, thread) => ({ ...input(thread), environments: place(path) })),
  'turn/start environments.runtimeWorkspaceRoots': folder((path, thread) => ({
    ...input(thread),
    environments: [{ environmentId: 'local', cwd: at(''), runtimeWorkspaceRoots: [path] }],
  })),
  'turn/start input.path': refused((path, threadId) => ({ threadId, input: image(path) })),
  'turn/start runtimeWorkspaceRoots': folder((path, thread) => ({ ...input(thread), runtimeWorkspaceRoots: [path] })),
  'turn/start sandboxPolicy.writableRoots': folder((path, thread) => ({
    ...{ ...input(thread), sandboxPolicy: writing(path) },
  })),
  'turn/steer input.path': refused((path, threadId) => ({ threadId, expectedTurnId: 'x', input: image(path) })),
};

/** Called like paths, or leading to files, and no paths of this machine for who is remote. */
const OTHERS: Readonly<Record<string, string>> = {
  'command/exec sandboxPolicy.writableRoots': 'who has `process` may run programs outside of every sandbox',
  'config/batchWrite edits.keyPath': 'a setting',
  'config/value/write keyPath': 'a setting',
  'initialize heddle.cwd': 'counts for local clients only',
  'mcpServer/resource/read uri': 'is of the MCP server',
  'thread/queue/add input.fileId': 'is of the provider',
  'thread/queue/update input.fileId': 'is of the provider',
  'turn/start input.fileId': 'is of the provider',
  'turn/steer input.fileId': 'is of the provider',
};

const SOUNDS_LIKE_A_PATH = /(?:path|cwd|root|folder|dir|directory|(?<!pro)file|uri)s?(?:id)?$/i;

interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

/** The names of all members, those of members after a dot. */
function membersOf(schema: JsonSchema, whole: JsonSchema, seen: readonly JsonSchema[] = []): string[] {
  if (seen.includes(schema)) return [];
  const inside = (each: JsonSchema) => membersOf(each, whole, [...seen, schema]);
  const named = schema.$ref && whole.$defs?.[schema.$ref.replace('#/$defs/', '')];
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, each]) => [
    name,
    ...inside(each).map((below) => `${name}.${below}`),
  ]);
  const others = [named, schema.items, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [...own, ...others.flatMap((each) => (each ? inside(each) : []))];
}

test('every member that sounds like a path is in the list', () => {
  const found = Object.values(requests).flatMap(({ method, params }) => {
    const schema = z.toJSONSchema(params(), { unrepresentable: 'any', io: 'input' }) as JsonSchema;
    const members = membersOf(schema, schema).filter((name) => SOUNDS_LIKE_A_PATH.test(name));
    return [...new Set(members)].map((name) => `${method} ${name}`);
  });
  expect(found.sort()).toEqual([...Object.keys(USES), ...Object.keys(OTHERS)].sort());
});

let server: RunningApp;
let client: TestClient;
let base: string;
let thread: string;
const at = (name: string) => join(base, 'root', name);

beforeAll(async () => {
  base = await temporaryFolder();
  const outside = join(base, 'outside');
  for (const each of [outside, at('shut')]) {
    await mkdir(join(each, '.heddle'), { recursive: true });
    await writeFile(join(each, '.heddle', 'config.toml'), `developer_instructions = "${SECRET}"\n`);
    await mkdir(join(each, '.agents/skills/one'), { recursive: true });
    const skill = `---\nname: one\ndescription: ${SECRET}\n---\n${SECRET}`;
    await writeFile(join(each, '.agents/skills/one/SKILL.md'), skill);
    for (const name of ['file', 'AGENTS.md']) await writeFile(join(each, name), SECRET);
  }
  await writeFile(at('free'), 'free');
  await symlink('../outside', at('link'));
  await symlink('shut', at('inner'));
  const projects = Object.fromEntries([outside, at('shut')].map((path) => [path, { trust_level: 'trusted' }]));
  server = await startApp({
    config: {
      ...{ projects, default_permissions: 'mine' },
      remote: { roots: [at('')], sandbox: 'workspace-write', approvals: 'on-request' },
      permissions: { mine: { extends: ':workspace', filesystem: { [at('shut')]: 'deny' } } },
    },
  });
  client = await server.connectAs(REMOTE, { experimentalApi: true });
  thread = await startThread(client, { cwd: at('') });
});
afterAll(cleanUp);

/** All below the temporary folder, by whatever name. */
const FOLDERS = () => [
  ...[
    join(base, 'outside'),
    at('link'),
    `${at('free')}/../../outside`,
    `${at('')}/./../outside`,
    `${base}/root-beside`,
  ],
  ...[`/proc/self/root${join(base, 'outside')}`],
];
/** What the profile of everybody denies. */
const DENIED = () => [at('shut'), at('inner'), `${at('')}./shut`];

describe.each(Object.entries(USES))('%s', (name, { params, outcome, isFolder }) => {
  const method = name.slice(0, name.indexOf(' '));
  /** Work may be placed where it then sees nothing. */
  const isPlace = /^(?:command|policy|process|thread|turn).*(?:cwd|oots)$/i.test(name);

  test('leads nowhere', async () => {
    const folders = [...FOLDERS(), ...DENIED()];
    // Where a folder is meant, `link/..` is taken away by the words alone, and the rest is looked at.
    const more = [...folders, ...['outside', 'root/shut'].map((each) => `${at('link')}/../${each}`)];
    const paths = isFolder ? folders : [...more, ...more.map((each) => `${each}/file`)];
    const [before, copied] = [await readdir(join(base, 'outside')), await readdir(at(''))];
    for (const path of paths) {
      const answered = client.request(method, params(path, thread)).then(
        (result) => ({ result, code: undefined }),
        (error: { code: number; message: string }) => ({ result: error.message, code: error.code }),
      );
      const { result, code } = await answered;
      expect(JSON.stringify(result), path).not.toMatch(new RegExp(`${SECRET}|AGENTS`));
      if (outcome === 'refused' && !(isPlace && DENIED().includes(path)))
        expect(code ?? 0, `${path}: ${JSON.stringify(result)}`).toBeLessThan(-32000);
      expect(code, path).not.toBe(-32603);
    }
    expect(await readdir(join(base, 'outside'))).toEqual(before);
    expect(await readdir(at(''))).toEqual(copied);
  });
});
