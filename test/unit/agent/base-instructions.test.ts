// What a model is told where nobody says otherwise: its work, and the place as the settings of the moment have it.

import { describe, expect, test } from 'vitest';
import { placeText } from '../../../src/agent/base-instructions.ts';
import { instructionsOf } from '../../../src/agent/collaboration.ts';
import type { HeldPolicy } from '../../../src/model/policy.ts';
import { settings } from '../../harness/history-events.ts';

const at = { nowMs: new Date(2026, 1, 3, 23, 59).getTime(), shell: '/bin/zsh' };
const WRITING: HeldPolicy = {
  type: 'workspaceWrite',
  writableRoots: ['/more'],
  networkAccess: false,
  excludeTmpdirEnvVar: false,
  excludeSlashTmp: false,
};

test('it is told of its work, of the place, and what the client adds', () => {
  const told = instructionsOf(settings({ cwd: '/somewhere/here', developerInstructions: 'Be brief.' }), at);
  expect(told).toMatch(/^You are a coding agent/);
  expect(told).toContain('working folder is /somewhere/here');
  expect(told).toContain('2026-02-03');
  expect(told).toContain('/bin/zsh');
  expect(told).toMatch(/Be brief\.$/);
});

test('instructions that are given stand in for ours, and none are none', () => {
  const own = instructionsOf(settings({ baseInstructions: 'Only verse.' }), at);
  expect(own).toMatch(/^Only verse\.\n\nYour working folder/);
  expect(instructionsOf(settings({ baseInstructions: '' }), at)).toBe('');
});

test('a thread without an environment has no place', () => {
  expect(placeText(settings({ hasEnvironment: false }), at)).toBeNull();
});

describe('the place', () => {
  test.each<[string, HeldPolicy, 'never' | 'on-request' | 'untrusted', RegExp]>([
    ['full access', { type: 'dangerFullAccess' }, 'never', /without a sandbox.*\n.*Nobody can be asked/],
    [
      'reading',
      { type: 'readOnly', networkAccess: false },
      'untrusted',
      /change none\. They have no network.*\n.*asked before every/,
    ],
    ['writing', WRITING, 'on-request', /below the working folders, below \/more and.*no network.*\n.*ask by the means/],
    ['network', { ...WRITING, networkAccess: true }, 'on-request', /They have the network/],
  ])('tells of %s', (_, sandboxPolicy, approvalPolicy, expected) => {
    expect(placeText(settings({ sandboxPolicy, approvalPolicy }), at)).toMatch(expected);
  });
});
