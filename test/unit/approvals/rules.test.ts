// Which commands run, which are asked about, and which are refused: every case of policy, sandbox and grants.

import { describe, expect, test } from 'vitest';
import {
  decideCommand,
  decideFileChange,
  decideMcpCall,
  decidePermissions,
  type Facts,
  type FileFacts,
  type McpFacts,
  type Verdict,
} from '../../../src/approvals/rules.ts';
import { type ApprovalPolicy, sandboxPolicyOf } from '../../../src/model/policy.ts';

const facts = (members: Partial<Facts> = {}): Facts => ({
  policy: 'on-request',
  sandbox: { type: 'readOnly', networkAccess: false },
  sandboxHolds: true,
  isGranted: false,
  prefixRule: undefined,
  ...members,
});

const GRANULAR = {
  sandbox_approval: false,
  rules: true,
  skill_approval: false,
  request_permissions: false,
  mcp_elicitations: true,
};

const granular = (sandbox_approval: boolean): ApprovalPolicy => ({ granular: { ...GRANULAR, sandbox_approval } });

type Decision = `${Verdict['decision']} ${Verdict['runs']}`;
const decide = (escalate: boolean, members: Partial<Facts>): Decision => {
  const { decision, runs } = decideCommand({ escalate }, facts(members));
  return `${decision} ${runs}`;
};

describe('a command in the sandbox', () => {
  test.each<[ApprovalPolicy, Decision]>([
    ['untrusted', 'ask sandboxed'],
    ['on-request', 'allow sandboxed'],
    ['never', 'allow sandboxed'],
    [granular(true), 'allow sandboxed'],
    [granular(false), 'allow sandboxed'],
  ])('under %j: %s', (policy, decision) => {
    expect(decide(false, { policy })).toBe(decision);
  });
});

describe('a command about which a rule may be lost', () => {
  const lost = { mayLackRule: true };
  test.each<[Partial<Facts>, Decision]>([
    [{}, 'ask sandboxed'],
    [{ policy: 'never' }, 'deny sandboxed'],
    [{ policy: granular(true) }, 'ask sandboxed'],
    [{ policy: { granular: { ...GRANULAR, rules: false } } }, 'deny sandboxed'],
    [{ policy: 'never', sandbox: { type: 'dangerFullAccess' } }, 'deny bare'],
    [{ sandbox: { type: 'dangerFullAccess' } }, 'ask bare'],
    [{ isGranted: true }, 'allow sandboxed'],
    [{ prefixRule: 'forbidden' }, 'deny sandboxed'],
  ])('%j: %s', (members, decision) => {
    expect(decide(false, { ...members, ...lost })).toBe(decision);
  });
});

describe('a command that asks to leave the sandbox', () => {
  test.each<[ApprovalPolicy, Decision]>([
    ['untrusted', 'ask bare'],
    ['on-request', 'ask bare'],
    ['never', 'deny bare'],
    [granular(true), 'ask bare'],
    [granular(false), 'deny bare'],
  ])('under %j: %s', (policy, decision) => {
    expect(decide(true, { policy })).toBe(decision);
  });
});

describe('a command on a host without a sandbox', () => {
  test.each<[ApprovalPolicy, Decision]>([
    ['untrusted', 'ask unavailable'],
    ['on-request', 'ask unavailable'],
    ['never', 'deny unavailable'],
    [granular(true), 'ask unavailable'],
    [granular(false), 'deny unavailable'],
  ])('under %j: %s', (policy, decision) => {
    expect(decide(false, { policy, sandboxHolds: false })).toBe(decision);
  });

  test('is not allowed by a remembered prefix', () => {
    expect(decide(false, { sandboxHolds: false, prefixRule: 'allow' })).toBe('ask unavailable');
  });
});

describe.each(['dangerFullAccess', 'externalSandbox'] as const)('under %s', (type) => {
  const sandbox = type === 'dangerFullAccess' ? { type } : { type, networkAccess: 'restricted' as const };

  test.each<[ApprovalPolicy, Decision]>([
    ['untrusted', 'ask bare'],
    ['on-request', 'allow bare'],
    ['never', 'allow bare'],
    [granular(false), 'allow bare'],
  ])('%j: %s, whether there is a sandbox or not', (policy, decision) => {
    for (const escalate of [true, false])
      for (const sandboxHolds of [true, false])
        expect(decide(escalate, { policy, sandbox, sandboxHolds })).toBe(decision);
  });
});

test('what was granted, or is covered by a remembered prefix, is not asked about again', () => {
  for (const known of [{ isGranted: true }, { prefixRule: 'allow' }] as const) {
    expect(decide(false, { policy: 'untrusted', ...known })).toBe('allow sandboxed');
    expect(decide(true, known)).toBe('allow bare');
    expect(decide(false, { policy: 'untrusted', sandbox: { type: 'dangerFullAccess' }, ...known })).toBe('allow bare');
  }
});

describe('a rule about the command', () => {
  test.each<[ApprovalPolicy, Decision]>([
    ['untrusted', 'ask sandboxed'],
    ['on-request', 'ask sandboxed'],
    ['never', 'deny sandboxed'],
    [granular(false), 'ask sandboxed'],
    [{ granular: { ...GRANULAR, sandbox_approval: true, rules: false } }, 'deny sandboxed'],
  ])('that asks, under %j: %s', (policy, decision) => {
    expect(decide(false, { policy, prefixRule: 'prompt' })).toBe(decision);
  });

  test('that asks is answered by an acceptance of exactly this operation', () => {
    expect(decide(false, { prefixRule: 'prompt', isGranted: true })).toBe('allow sandboxed');
  });

  test('that forbids goes before everything', () => {
    for (const policy of ['untrusted', 'on-request', 'never'] as const)
      for (const sandbox of [sandboxPolicyOf('read-only'), sandboxPolicyOf('danger-full-access')])
        expect(decide(false, { policy, sandbox, prefixRule: 'forbidden', isGranted: true })).toMatch(/^deny/);
  });
});

describe('a request for permissions', () => {
  test.each<[ApprovalPolicy, string]>([
    ['untrusted', 'ask'],
    ['on-request', 'ask'],
    ['never', 'deny'],
    [{ granular: { ...GRANULAR, request_permissions: true } }, 'ask'],
    [{ granular: { ...GRANULAR, request_permissions: false } }, 'deny'],
  ])('under %j: %s', (policy, decision) => {
    expect(decidePermissions(policy, false).decision).toBe(decision);
    expect(decidePermissions(policy, true).decision).toBe('deny');
  });
});

test('every decision says which rule made it', () => {
  for (const policy of ['untrusted', 'on-request', 'never'] as const)
    for (const sandboxHolds of [true, false])
      for (const escalate of [true, false])
        expect(decideCommand({ escalate }, facts({ policy, sandboxHolds })).rule).not.toBe('');
});

describe('a change of files', () => {
  const change = (members: Partial<FileFacts>): Decision => {
    const sandbox = sandboxPolicyOf('workspace-write');
    const { decision, runs } = decideFileChange({
      ...{ policy: 'on-request', sandbox, standing: 'workspace', isGranted: false },
      ...members,
    });
    return `${decision} ${runs}`;
  };
  const modes = ['read-only', 'workspace-write', 'danger-full-access'] as const;

  test.each<[ApprovalPolicy, FileFacts['standing'], [Decision, Decision, Decision]]>([
    ['untrusted', 'workspace', ['ask sandboxed', 'ask sandboxed', 'ask sandboxed']],
    ['untrusted', 'outside', ['ask bare', 'ask bare', 'ask bare']],
    ['on-request', 'workspace', ['ask sandboxed', 'allow sandboxed', 'allow sandboxed']],
    ['on-request', 'outside', ['ask bare', 'ask bare', 'allow bare']],
    ['never', 'workspace', ['deny sandboxed', 'allow sandboxed', 'allow sandboxed']],
    ['never', 'outside', ['deny bare', 'deny bare', 'allow bare']],
    [granular(true), 'workspace', ['ask sandboxed', 'allow sandboxed', 'allow sandboxed']],
    [granular(true), 'outside', ['ask bare', 'ask bare', 'allow bare']],
    [granular(false), 'workspace', ['deny sandboxed', 'allow sandboxed', 'allow sandboxed']],
    [granular(false), 'outside', ['deny bare', 'deny bare', 'allow bare']],
    ['untrusted', 'hidden', ['deny bare', 'deny bare', 'deny bare']],
    ['on-request', 'hidden', ['deny bare', 'deny bare', 'deny bare']],
    ['never', 'hidden', ['deny bare', 'deny bare', 'deny bare']],
  ])('under %j, of what lies %s', (policy, standing, decisions) => {
    expect(modes.map((mode) => change({ policy, standing, sandbox: sandboxPolicyOf(mode) }))).toEqual(decisions);
  });

  test('that was accepted before is allowed, except where nobody may see', () => {
    const sandbox = sandboxPolicyOf('read-only');
    expect(change({ sandbox, isGranted: true })).toBe('allow sandboxed');
    expect(change({ sandbox, isGranted: true, standing: 'outside' })).toBe('allow bare');
    expect(change({ sandbox, isGranted: true, standing: 'hidden' })).toBe('deny bare');
  });

  test('says which rule decided', () => {
    const facts = {
      policy: 'never',
      sandbox: sandboxPolicyOf('read-only'),
      standing: 'workspace',
      isGranted: false,
    } as const;
    expect(decideFileChange(facts).rule).toBe(
      'the thread may only read files, and the approval policy is never to ask',
    );
  });
});

describe('a call of a tool of an MCP server', () => {
  const call = (members: Partial<McpFacts> = {}) =>
    decideMcpCall({
      ...{ policy: 'on-request', sandbox: sandboxPolicyOf('workspace-write'), mode: 'auto', hints: {} },
      ...{ isGranted: false, isCapped: false, ...members },
    }).decision;
  const full = sandboxPolicyOf('danger-full-access');

  test.each<[string, Partial<McpFacts>, Verdict['decision']]>([
    ['without hints', {}, 'ask'],
    ['that only reads', { hints: { readOnly: true } }, 'allow'],
    ['that says that it reads and destroys', { hints: { readOnly: true, destructive: true } }, 'ask'],
    ['that destroys nothing', { hints: { destructive: false } }, 'ask'],
    ['that destroys nothing and stays here', { hints: { destructive: false, openWorld: false } }, 'allow'],
    ['with full access', { sandbox: full }, 'ask'],
    ['under never', { policy: 'never' }, 'deny'],
    ['under never with full access', { policy: 'never', sandbox: full }, 'allow'],
    ['that only reads, under untrusted', { policy: 'untrusted', hints: { readOnly: true } }, 'ask'],
    ['under a granular policy with elicitations', { policy: { granular: GRANULAR } }, 'ask'],
    ['under one without', { policy: { granular: { ...GRANULAR, mcp_elicitations: false } } }, 'deny'],
    ['that was accepted', { isGranted: true }, 'allow'],
    ['that the configuration allows', { mode: 'approve', policy: 'never' }, 'allow'],
    ['that it asks about', { mode: 'prompt', hints: { readOnly: true } }, 'ask'],
    ['that it asks about, under never', { mode: 'prompt', policy: 'never', sandbox: full }, 'deny'],
    ['under the ceiling', { isCapped: true, mode: 'approve', isGranted: true, hints: { readOnly: true } }, 'ask'],
    ['under the ceiling and never', { isCapped: true, policy: 'never', sandbox: full }, 'deny'],
  ])('%s', (_, members, decision) => {
    expect(call(members)).toBe(decision);
  });
});
