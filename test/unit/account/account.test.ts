// Accounts and keys: what is stored, what is told, and what never leaves.

import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accountHandlers } from '../../../src/account/handlers.ts';
import { installationId } from '../../../src/account/installation.ts';
import { apiKeyOf, createKeyStore, type KeyStore } from '../../../src/account/keys.ts';
import { localPrincipal } from '../../../src/auth/principal.ts';
import { AppError } from '../../../src/base/errors.ts';
import { Config } from '../../../src/config/schema.ts';
import { handshakeHandlers } from '../../../src/handshake/handlers.ts';
import { Peer } from '../../../src/rpc/peer.ts';
import { Sessions } from '../../../src/rpc/session.ts';
import { memoryPair } from '../../../src/transports/memory.ts';
import { routerOf } from '../../harness/served-routes.ts';

const SECRET = 'sk-marker-0123456789';
const log = pino({ level: 'silent' });

let folder: string;
let keys: KeyStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-account-'));
  keys = createKeyStore(folder);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A client, and everything that the server says to it. */
async function connect(config: () => Promise<Config> = async () => Config().parse({})) {
  const sessions = new Sessions();
  const routes = [
    ...handshakeHandlers({ settingsOf: () => ({}), sessions, version: '0', dataDirectory: folder }),
    ...accountHandlers({ keys, sessions, config, installationId: () => installationId(folder) }),
  ];
  const router = routerOf(routes);
  const [ours, theirs] = memoryPair();
  router.serve(ours, localPrincipal);
  const notices: unknown[] = [];
  const peer = new Peer(
    theirs,
    {
      request: () => {},
      notification: ({ method, params }) => notices.push({ method, params }),
      isStop: () => false,
    },
    { log },
  );
  void peer.run();
  await peer.call('initialize', {
    clientInfo: { name: 'test', version: '1' },
    capabilities: { experimentalApi: true },
  });
  return { call: (method: string, params: object = {}) => peer.call(method, params), notices };
}

describe('account methods', () => {
  it('tell that there is no account, and need none', async () => {
    const { call } = await connect();
    expect(await call('account/read')).toEqual({
      account: null,
      userId: null,
      requiresOpenaiAuth: false,
      workspaceRouting: null,
    });
    expect(await call('account/bedrock/checkGovCloudRequirements')).toEqual({ isGovCloud: false, shouldWarn: false });
    expect(await call('account/rateLimits/read')).toMatchObject({ rateLimits: { primary: null } });
    const status = await call('remoteControl/status/read');
    expect(status).toMatchObject({ status: 'disabled', environmentId: null });
    expect(await call('remoteControl/status/read')).toEqual(status);
    expect(await call('account/login/cancel', { loginId: 'x' })).toEqual({ status: 'notFound' });
  });

  it('store a key for the configured provider, for its owner only, and never hand it out', async () => {
    const { call, notices } = await connect();
    expect(await call('account/login/start', { type: 'apiKey', apiKey: ` ${SECRET}\n` })).toEqual({ type: 'apiKey' });
    expect(await keys.stored('openai')).toBe(SECRET);
    expect((await stat(join(folder, 'auth.json'))).mode & 0o777).toBe(0o600);
    const answer = await call('getAuthStatus', { includeToken: true });
    expect(answer).toEqual({ authMethod: 'apikey', authToken: null, requiresOpenaiAuth: false });
    expect(notices).toEqual([
      {
        method: 'account/login/completed',
        params: { loginId: null, success: true, error: null, onboardingEntrypoint: null },
      },
      { method: 'account/updated', params: { authMode: 'apikey', planType: null, reason: null } },
    ]);
  });

  it('store a key for the provider named, and forget it again', async () => {
    const { call, notices } = await connect();
    await call('account/login/start', { type: 'apiKey', apiKey: SECRET, modelProvider: 'anthropic' });
    expect(await keys.stored('anthropic')).toBe(SECRET);
    expect(await call('getAuthStatus')).toMatchObject({ authMethod: null });
    expect(await call('account/logout')).toEqual({});
    expect(await call('account/logout')).toEqual({});
    expect(await readdir(folder)).toEqual([]);
    expect(notices.at(-1)).toEqual({
      method: 'account/updated',
      params: { authMode: null, planType: null, reason: null },
    });
  });

  it.each([
    [{ type: 'apiKey', apiKey: '' }, -32602],
    [{ type: 'apiKey', apiKey: 'a\nb' }, -32602],
    [{ type: 'apiKey', apiKey: SECRET, modelProvider: 'nope' }, -32602],
    [{ type: 'nope' }, -32602],
    [{ type: 'chatgpt' }, -32601],
    [{ type: 'chatgptAuthTokens', accessToken: SECRET, chatgptAccountId: 'a' }, -32601],
  ])('refuse the login %j without naming the key', async (params, code) => {
    const { call, notices } = await connect();
    const error = await call('account/login/start', params).then(
      () => undefined,
      (reason: unknown) => reason as Error & { data: { code: number } },
    );
    expect(error?.data.code).toBe(code);
    expect(error?.message).not.toContain(SECRET);
    expect(notices).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('let a person sign out while the configuration is broken', async () => {
    await keys.store('openai', SECRET);
    const { call } = await connect(() => Promise.reject(new AppError('invalid', 'failed to load configuration: x')));
    expect(await call('getAuthStatus')).toMatchObject({ authMethod: null });
    expect(await call('account/logout')).toEqual({});
    expect(await keys.stored('openai')).toBeUndefined();
  });
});

describe('keys', () => {
  it('prefer the environment, then the store', async () => {
    await keys.store('p', 'stored');
    const provider = { id: 'p', envKey: 'P_KEY' };
    expect(await apiKeyOf(provider, { P_KEY: ' from-environment ' }, keys)).toBe('from-environment');
    expect(await apiKeyOf(provider, { P_KEY: '' }, keys)).toBe('stored');
    expect(await apiKeyOf({ id: 'p', envKey: undefined }, { P_KEY: 'x' }, keys)).toBe('stored');
    expect(await apiKeyOf({ id: 'constructor', envKey: undefined }, {}, keys)).toBeUndefined();
  });

  it('lose nothing when stored at once', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `p${index}`);
    await Promise.all(ids.map((id) => keys.store(id, `key-${id}`)));
    expect(await Promise.all(ids.map((id) => keys.stored(id)))).toEqual(ids.map((id) => `key-${id}`));
    await keys.forget('p3');
    expect(await keys.stored('p3')).toBeUndefined();
    expect(await keys.stored('p4')).toBe('key-p4');
    expect(await readdir(folder)).toEqual(['auth.json']);
  });

  it('leave a file alone that they did not write, and do not quote it', async () => {
    const text = `{"OPENAI_API_KEY": "${SECRET}"}`;
    await writeFile(join(folder, 'auth.json'), text);
    const error = await keys.store('p', 'x').catch((reason: Error) => reason);
    expect(error).toMatchObject({ kind: 'unavailable' });
    expect(String(error)).not.toContain(SECRET);
    expect(await readFile(join(folder, 'auth.json'), 'utf8')).toBe(text);
  });
});

describe('installationId', () => {
  it('is made once', async () => {
    const id = await installationId(folder);
    expect(await installationId(folder)).toBe(id);
    expect((await stat(join(folder, 'installation_id'))).mode & 0o777).toBe(0o600);
  });
});
