// What clients ask at their start, over a connection: configuration, models, profiles and catalogues, in the declared shapes.

import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Model } from '../../../src/agent/backend.ts';
import { modelHandlers } from '../../../src/agent/handlers.ts';
import { permissionProfileHandlers } from '../../../src/approvals/handlers.ts';
import { localPrincipal, type Principal } from '../../../src/auth/principal.ts';
import { catalogueHandlers } from '../../../src/config/catalogues.ts';
import { configHandlers, configWarningOf } from '../../../src/config/handlers.ts';
import { createConfigSource } from '../../../src/config/load.ts';
import { configWarning } from '../../../src/config/methods.ts';
import { type Requirements, readRequirements } from '../../../src/config/requirements.ts';
import { serveRoutes } from '../../harness/served-routes.ts';

const SECRET = 'marker-0123456789';
const remotePrincipal: Principal = {
  tenant: 'local',
  subject: 'remote',
  permissions: new Set(['thread:read', 'thread:write', 'approval:resolve']),
  isLocal: false,
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-start-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const model = (id: string, more: Partial<Model> = {}): Model => ({
  id,
  displayName: id.toUpperCase(),
  description: '',
  provider: 'p',
  hidden: false,
  isDefault: false,
  efforts: [{ effort: 'low', description: 'quick' }],
  defaultEffort: 'low',
  modalities: ['text'],
  contextWindow: null,
  ...more,
});

function connect(principal: Principal = localPrincipal, models: readonly Model[] = [], requirements?: Requirements) {
  const source = createConfigSource({ dataDirectory: folder, flags: ['model=flag'], requirements });
  const routes = [
    ...configHandlers({
      mayLookInto: async () => true,
      tellOfFolder: () => {},
      source,
      cwd: '/server',
      loadedThreads: () => [],
    }),
    ...catalogueHandlers({ cwd: '/server', loadedThreads: () => ['here'] }),
    ...permissionProfileHandlers({ mayLookInto: async () => true, config: source, cwd: '/server' }),
    ...modelHandlers({ models: async () => models, config: source }),
  ];
  const served = serveRoutes(routes, principal);
  return (method: string, params: object = {}) => served(method, params) as Promise<Record<string, unknown>>;
}

const CONFIG = `
model: file
model_provider: gateway
model_providers:
  gateway:
    base_url: http://user:${SECRET}@127.0.0.1:1/v1
    env_key: GATEWAY_KEY
    http_headers: {Authorization: Bearer ${SECRET}}
    query_params: {key: ${SECRET}}
    experimental_bearer_token: ${SECRET}
    headers: {x-api-key: ${SECRET}, Cookie: ${SECRET}}
    aws: {secret_access_key: ${SECRET}, credentials: {first: ${SECRET}}}
  queried: {base_url: "https://host/v1?code=${SECRET}"}
mcp_servers:
  demo: {command: demo, env: {TOKEN: ${SECRET}}, args: ["--url", "http://${SECRET}@127.0.0.1/"]}
projects:
  /elsewhere: {trust_level: untrusted}
`;

describe('config/read', () => {
  it('shows what is in force, who set it, and no secret', async () => {
    await writeFile(join(folder, 'config.yaml'), CONFIG);
    const answer = await connect()('config/read', { includeLayers: true, cwd: '.' });
    expect(JSON.stringify(answer)).not.toContain(SECRET);
    expect(answer).toMatchObject({
      config: {
        model: 'flag',
        model_provider: 'gateway',
        model_providers: { gateway: { env_key: 'GATEWAY_KEY' } },
        projects: { '/elsewhere': { trust_level: 'untrusted' }, '/server': { trust_level: 'trusted' } },
      },
      origins: {
        model: { name: { type: 'sessionFlags' } },
        model_provider: { name: { type: 'user', file: join(folder, 'config.yaml'), profile: null } },
      },
      layers: [{ name: { type: 'sessionFlags' }, config: { model: 'flag' } }, { name: { type: 'user' } }],
    });
  });

  it('leaves a decision about a folder as it is', async () => {
    await writeFile(join(folder, 'config.yaml'), CONFIG);
    expect(await connect()('config/read', { cwd: '/elsewhere/in' })).toMatchObject({
      config: { projects: { '/elsewhere/in': { trust_level: 'untrusted' } } },
      layers: null,
    });
  });

  it('shows to somebody without the permission only what concerns new threads', async () => {
    await writeFile(join(folder, 'config.yaml'), CONFIG);
    const answer = await connect(remotePrincipal)('config/read', { includeLayers: true, cwd: '/w' });
    expect(answer).toMatchObject({ config: { model: 'flag' }, origins: {}, layers: [] });
    expect(Object.keys(answer.config as object)).not.toContain('model_providers');
    expect((answer.config as { projects: object }).projects).toEqual({ '/w': { trust_level: 'trusted' } });
  });

  it('says what is wrong with the file, and as a warning too', async () => {
    await writeFile(join(folder, 'config.yaml'), 'a: 1\nmodel: 2\n');
    await expect(connect()('config/read')).rejects.toThrow(`failed to load configuration: ${folder}/config.yaml:2:8: `);
    const { problem } = await createConfigSource({ dataDirectory: folder }).state();
    const warning = problem && configWarningOf(problem);
    expect(configWarning.params().parse(warning)).toEqual(warning);
    expect(warning).toMatchObject({
      summary: 'Invalid configuration; using defaults.',
      path: join(folder, 'config.yaml'),
      range: { start: { line: 2, column: 8 } },
    });
  });
});

describe('configRequirements/read', () => {
  it('shows the settings in it to those who may read the configuration', async () => {
    const file = join(await realpath(folder), 'requirements.toml');
    await writeFile(file, '[settings]\nmodel = "m"\n', { mode: 0o644 });
    const requirements = await readRequirements(file, process.getuid?.());
    const read = (principal: Principal) => connect(principal, [], requirements)('configRequirements/read');
    expect(await read(localPrincipal)).toMatchObject({ requirements: { file, settings: { model: 'm' } } });
    const { requirements: seen } = (await read(remotePrincipal)) as { requirements: object };
    expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(['settings']));
    expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(['file']));
  });
});

describe('permissionProfile/list', () => {
  it('pages through the profiles', async () => {
    const call = connect();
    const first = await call('permissionProfile/list', { limit: 1 });
    expect(first).toMatchObject({ data: [{ id: ':read-only', allowed: true }], nextCursor: expect.any(String) });
    const rest = await call('permissionProfile/list', { cursor: first.nextCursor });
    expect(rest).toMatchObject({ data: [{ id: ':workspace' }, { id: ':danger-full-access' }], nextCursor: null });
    await expect(call('permissionProfile/list', { cursor: 'garbage' })).rejects.toThrow('invalid cursor: garbage');
  });

  it('tells a remote principal what the ceiling allows', async () => {
    await writeFile(join(folder, 'config.yaml'), 'remote: {sandbox: workspace-write}\n');
    const { data } = (await connect(remotePrincipal)('permissionProfile/list')) as { data: { allowed: boolean }[] };
    expect(data.map(({ allowed }) => allowed)).toEqual([true, true, false]);
  });
});

describe('model/list', () => {
  const models = [model('a', { isDefault: true }), model('b', { hidden: true }), model('c', { provider: 'q' })];

  it('pages through what is not hidden', async () => {
    const call = connect(localPrincipal, models);
    const first = await call('model/list', { limit: 1 });
    expect(first).toMatchObject({
      data: [{ id: 'a', displayName: 'A', isDefault: true, supportedReasoningEfforts: [{ reasoningEffort: 'low' }] }],
      nextCursor: expect.any(String),
    });
    expect(await call('model/list', { limit: 1, cursor: first.nextCursor })).toMatchObject({
      data: [{ id: 'c' }],
      nextCursor: null,
    });
    expect(await call('model/list', { limit: 0 })).toMatchObject({
      data: [{ id: 'a' }],
      nextCursor: expect.any(String),
    });
  });

  it('gives hidden ones and those of one provider when asked', async () => {
    const call = connect(localPrincipal, models);
    expect((await call('model/list', { includeHidden: true })).data).toHaveLength(3);
    expect((await call('model/list', { modelProvider: 'q' })).data).toMatchObject([{ id: 'c' }]);
    await expect(call('model/list', { cursor: '4' })).rejects.toThrow('invalid cursor: 4');
  });
});

describe('catalogues', () => {
  it.each([
    ['hooks/list', { cwds: ['/w'] }, { data: [{ cwd: '/w', hooks: [], warnings: [], errors: [] }] }],
    ['hooks/list', {}, { data: [{ cwd: '/server', hooks: [], warnings: [], errors: [] }] }],
    ['hooks/list', { cwds: ['/w', 'sub'] }, { data: [{ cwd: '/w' }, { cwd: '/server/sub' }] }],
    ['plugin/list', {}, { marketplaces: [], marketplaceLoadErrors: [], featuredPluginIds: [] }],
    ['plugin/installed', { cwds: null }, { marketplaces: [], marketplaceLoadErrors: [] }],
    ['app/list', {}, { data: [], nextCursor: null }],
    ['experimentalFeature/list', { limit: 2 }, { data: [], nextCursor: null }],
    ['experimentalFeature/list', { threadId: 'here' }, { data: [], nextCursor: null }],
    ['experimentalFeature/enablement/set', { enablement: { nope: true } }, { enablement: {} }],
    ['windowsSandbox/readiness', {}, { status: 'notConfigured' }],
    ['collaborationMode/list', {}, { data: [{ mode: 'plan', reasoning_effort: 'medium' }, { mode: 'default' }] }],
    ['configRequirements/read', {}, { requirements: null }],
    ['modelProvider/capabilities/read', {}, { imageGeneration: false, webSearch: false }],
  ])('%s %j', async (method, params, answer) => {
    expect(await connect()(method, params)).toMatchObject(answer);
  });

  it('knows no features of a thread that is not loaded', async () => {
    await expect(connect()('experimentalFeature/list', { threadId: 'gone' })).rejects.toThrow('thread not found: gone');
  });
});
