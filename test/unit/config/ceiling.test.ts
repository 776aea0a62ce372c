// What remote clients may have, against an operator's ceiling.

import { describe, expect, it } from 'vitest';
import { type CappedSettings, checkCeiling, checkRemoteOverrides } from '../../../src/config/ceiling.ts';
import { profileOf } from '../../../src/config/profiles.ts';
import { Config } from '../../../src/config/schema.ts';
import { readingOnly } from '../../../src/model/policy.ts';

const isBelow = async (path: string, roots: readonly string[]) =>
  roots.some((root) => path === root || path.startsWith(`${root}/`));

const workspaceWrite = (more: object = {}) =>
  ({
    type: 'workspaceWrite',
    writableRoots: [] as string[],
    networkAccess: false,
    excludeTmpdirEnvVar: false,
    excludeSlashTmp: false,
    ...more,
  }) as const;

const settings = (more: Partial<CappedSettings> = {}): CappedSettings => ({
  cwd: '/srv/a',
  workspaceRoots: ['/srv/a'],
  sandboxPolicy: { type: 'readOnly', networkAccess: false },
  approvalPolicy: 'on-request',
  ...more,
});

const check = (remote: object, asked: CappedSettings, more: object = {}) =>
  checkCeiling(Config().parse({ remote, ...more }), asked, isBelow);

describe('the ceiling', () => {
  it('lets nothing in where no roots are configured', async () => {
    await expect(check({}, settings())).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it.each([
    ['the default', {}, settings()],
    ['stricter approvals', {}, settings({ approvalPolicy: 'untrusted' })],
    ['what the operator gives', { sandbox: 'workspace-write' }, settings({ sandboxPolicy: workspaceWrite() })],
    ['never, where given', { approvals: 'never' }, settings({ approvalPolicy: 'never' })],
    [
      'full access, where given',
      { sandbox: 'danger-full-access' },
      settings({ sandboxPolicy: { type: 'dangerFullAccess' } }),
    ],
  ])('allows %s', async (_label, remote, asked) => {
    await check({ roots: ['/srv'], ...remote }, asked);
  });

  it.each([
    ['workspace-write', settings({ sandboxPolicy: workspaceWrite() }), 'sandbox'],
    ['full access', settings({ sandboxPolicy: { type: 'dangerFullAccess' } }), 'sandbox'],
    [
      'somebody else’s sandbox',
      settings({ sandboxPolicy: { type: 'externalSandbox', networkAccess: 'enabled' } }),
      'sandbox',
    ],
    ['network', settings({ sandboxPolicy: { type: 'readOnly', networkAccess: true } }), 'network access'],
    ['never', settings({ approvalPolicy: 'never' }), 'approvalPolicy'],
    ['another folder', settings({ cwd: '/etc' }), 'the folder /etc'],
    ['another root', settings({ workspaceRoots: ['/srv/a', '/srvx'] }), 'the folder /srvx'],
  ])('forbids %s by default', async (_label, asked, what) => {
    await expect(check({ roots: ['/srv'] }, asked)).rejects.toMatchObject({
      kind: 'forbidden',
      message: expect.stringMatching(new RegExp(`^${what} is beyond`)),
    });
  });

  it('forbids writable roots outside, and gives network only with the operator’s own setting', async () => {
    const remote = { roots: ['/srv'], sandbox: 'workspace-write' };
    await expect(
      check(remote, settings({ sandboxPolicy: workspaceWrite({ writableRoots: ['/home'] }) })),
    ).rejects.toThrow('the folder /home');
    const online = settings({ sandboxPolicy: workspaceWrite({ networkAccess: true }) });
    await expect(check(remote, online)).rejects.toThrow('network access');
    await check(remote, online, { sandbox_workspace_write: { network_access: true } });
  });
});

describe('overrides of remote clients', () => {
  it('set the model and its effort, and nothing else', () => {
    checkRemoteOverrides({ model: 'm', model_reasoning_effort: 'high' });
    for (const overrides of [
      { sandbox_mode: 'x' },
      { 'model_providers.x.base_url': 'http://x' },
      { '"model".x': 1, y: 1 },
    ]) {
      expect(() => checkRemoteOverrides(overrides)).toThrow(expect.objectContaining({ kind: 'forbidden' }));
    }
  });
});

describe('what the default profile denies', () => {
  const permissions = {
    work: {
      filesystem: { ':root': 'read', '/srv/secrets': 'deny', ':workspace_roots': { '.': 'write', '.env': 'deny' } },
    },
    wider: { filesystem: { ':root': 'read', ':workspace_roots': { '.': 'write' } } },
  };
  const configured = { permissions, default_permissions: 'work' };
  const policyNamed = (id: string) => profileOf(Config().parse(configured), id).sandboxPolicy;
  const asked = (sandboxPolicy: CappedSettings['sandboxPolicy'], sandbox = 'workspace-write') =>
    check({ roots: ['/srv'], sandbox }, settings({ sandboxPolicy }), configured);

  it('stays denied to remote clients, whichever policy they send', async () => {
    await asked(policyNamed('work'));
    await asked(readingOnly(policyNamed('work')));
    for (const policy of [policyNamed('wider'), workspaceWrite(), settings().sandboxPolicy])
      await expect(asked(policy)).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it('is within reach of those who may have full access', async () => {
    await asked({ type: 'dangerFullAccess' }, 'danger-full-access');
  });
});
