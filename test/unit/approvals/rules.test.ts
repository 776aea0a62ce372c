// Which commands run, which are asked about, and which are refused: every case of policy, sandbox and grants.

import { describe, expect, test } from 'vitest';
import { decideCommand, type Facts, type Verdict } from '../../../src/approvals/rules.ts';
import type { ApprovalPolicy } from '../../../src/model/policy.ts';

const facts = (members: Partial<Facts> = {}): Facts => ({
  policy: 'on-request',
  sandbox: { type: 'readOnly', networkAccess: false },
  sandboxHolds: true,
  isGranted: false,
  hasPrefixRule: false,
  ...members,
});

const granular = (sandbox_approval: boolean): ApprovalPolicy => ({
  granular: {
    sandbox_approval,
    rules: true,
    skill_approval: false,
    request_permissions: false,
    mcp_elicitations: true,
  },
});

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
    expect(decide(false, { sandboxHolds: false, hasPrefixRule: true })).toBe('ask unavailable');
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
  for (const known of [{ isGranted: true }, { hasPrefixRule: true }]) {
    expect(decide(false, { policy: 'untrusted', ...known })).toBe('allow sandboxed');
    expect(decide(true, known)).toBe('allow bare');
    expect(decide(false, { policy: 'untrusted', sandbox: { type: 'dangerFullAccess' }, ...known })).toBe('allow bare');
  }
});

test('every decision says which rule made it', () => {
  for (const policy of ['untrusted', 'on-request', 'never'] as const)
    for (const sandboxHolds of [true, false])
      for (const escalate of [true, false])
        expect(decideCommand({ escalate }, facts({ policy, sandboxHolds })).rule).not.toBe('');
});
