// The settings of a new thread, from wishes, configuration and caution.

import { describe, expect, it } from 'vitest';
import { providerOf } from '../../../src/config/providers.ts';
import { Config } from '../../../src/config/schema.ts';
import { threadDefaults } from '../../../src/config/thread-defaults.ts';
import { ThreadSettings } from '../../../src/model/thread.ts';

const config = (settings: object = {}) => Config().parse(settings);
const WORKSPACE = {
  type: 'workspaceWrite',
  writableRoots: [],
  networkAccess: false,
  excludeTmpdirEnvVar: false,
  excludeSlashTmp: false,
};
const READ_ONLY = { type: 'readOnly', networkAccess: false };

describe('threadDefaults', () => {
  it('is cautious where nothing is configured', () => {
    const settings = threadDefaults(config(), '/projects');
    expect(ThreadSettings().parse(settings)).toEqual(settings);
    expect(settings).toMatchObject({
      cwd: '/projects',
      workspaceRoots: ['/projects'],
      modelProvider: 'openai',
      approvalPolicy: 'on-request',
      approvalsReviewer: 'user',
      sandboxPolicy: READ_ONLY,
      permissionProfile: { id: ':read-only', extends: null },
      effort: null,
    });
  });

  it.each([
    ['a mode', { sandbox_mode: 'workspace-write' }, WORKSPACE, ':workspace'],
    ['a profile', { default_permissions: ':workspace' }, WORKSPACE, ':workspace'],
    ['full access', { sandbox_mode: 'danger-full-access' }, { type: 'dangerFullAccess' }, ':danger-full-access'],
    ['trust above', { projects: { '/projects': { trust_level: 'trusted' } } }, WORKSPACE, ':workspace'],
    [
      'nearer distrust',
      { projects: { '/projects': { trust_level: 'trusted' }, '/projects/in': { trust_level: 'untrusted' } } },
      READ_ONLY,
      ':read-only',
    ],
  ])('follows %s in the configuration', (_label, settings, sandboxPolicy, profile) => {
    expect(threadDefaults(config(settings), '/projects/in')).toMatchObject({
      sandboxPolicy,
      permissionProfile: { id: profile, extends: null },
    });
  });

  it('names no profile that does not say all', () => {
    const network = { sandbox_workspace_write: { network_access: true } };
    expect(threadDefaults(config({ sandbox_mode: 'workspace-write', ...network }), '/projects')).toMatchObject({
      sandboxPolicy: { ...WORKSPACE, networkAccess: true },
      permissionProfile: null,
    });
    expect(threadDefaults(config(network), '/projects', { sandbox: 'workspace-write' })).toMatchObject({
      sandboxPolicy: { ...WORKSPACE, networkAccess: true },
      permissionProfile: null,
    });
    expect(threadDefaults(config(network), '/projects', { permissions: ':workspace' })).toMatchObject({
      sandboxPolicy: WORKSPACE,
      permissionProfile: { id: ':workspace', extends: null },
    });
  });

  it('lets wishes go before the configuration, and null be none', () => {
    const configured = config({ model: 'a', approval_policy: 'never', instructions: 'base' });
    expect(
      threadDefaults(configured, '/projects', {
        model: 'b',
        approvalPolicy: 'untrusted',
        baseInstructions: null,
        workspaceRoots: ['/other'],
      }),
    ).toMatchObject({
      model: 'b',
      approvalPolicy: 'untrusted',
      baseInstructions: 'base',
      workspaceRoots: ['/other'],
    });
    expect(threadDefaults(config(), '/projects', {}, 'fallback').model).toBe('fallback');
  });

  it.each([
    [{ modelProvider: 'nope' }, 'failed to load configuration: Model provider `nope` not found'],
    [{ modelProvider: 'constructor' }, 'failed to load configuration: Model provider `constructor` not found'],
    [{ permissions: 'nope' }, 'failed to load configuration: default_permissions refers to undefined profile `nope`'],
    [{ permissions: ':workspace', sandbox: 'read-only' }, '`permissions` cannot be combined with `sandbox`'],
  ] as const)('refuses %j', (wishes, message) => {
    expect(() => threadDefaults(config(), '/projects', wishes)).toThrow(message);
  });
});

describe('providerOf', () => {
  it('completes an entry, and changes a built-in one by parts', () => {
    const configured = config({
      model_providers: {
        own: { base_url: 'http://127.0.0.1:1/v1', wire_api: 'chat', request_max_retries: 0 },
        openai: { stream_max_retries: 1 },
        empty: {},
      },
    });
    expect(providerOf(configured, 'own')).toEqual({
      id: 'own',
      name: 'own',
      hasOutputSchemas: true,
      hasFileTools: false,
      listsModels: true,
      models: {},
      baseUrl: 'http://127.0.0.1:1/v1',
      wire: 'chat',
      hasCustomTools: false,
      envKey: undefined,
      headers: {},
      query: {},
      requestMaxRetries: 0,
      streamMaxRetries: 5,
      streamIdleMs: 300_000,
    });
    expect(providerOf(configured, 'openai')).toMatchObject({ envKey: 'OPENAI_API_KEY', streamMaxRetries: 1 });
    expect(() => providerOf(configured, 'empty')).toThrow('has no base_url');
  });

  it('knows the mock provider only beside the mock backend', () => {
    expect(providerOf(config({ backend: 'mock' })).id).toBe('mock');
    expect(() => providerOf(config(), 'mock')).toThrow('not found');
  });
});
