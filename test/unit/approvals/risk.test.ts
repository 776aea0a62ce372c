// What a yes puts at risk, for each kind of question.

import { expect, test } from 'vitest';
import { riskOf } from '../../../src/approvals/risk.ts';
import type { Proposal } from '../../../src/model/approval.ts';

const proposal = (members: object): Proposal => members as Proposal;
const permissions = { network: true, read: [], write: [] };

test.each<[string, object, string]>([
  ['a command in the sandbox', { kind: 'command', sandbox: 'sandboxed' }, 'low'],
  ['a command that is given more', { kind: 'command', sandbox: 'sandboxed', permissions }, 'high'],
  ['a command outside', { kind: 'command', sandbox: 'bare' }, 'high'],
  ['a command where there is no sandbox', { kind: 'command', sandbox: 'unavailable' }, 'high'],
  ['words for a command in the sandbox', { kind: 'terminalInput', sandbox: 'sandboxed' }, 'low'],
  ['words for a command that has more', { kind: 'terminalInput', sandbox: 'sandboxed', hasMore: true }, 'high'],
  ['words for a command outside', { kind: 'terminalInput', sandbox: 'bare' }, 'high'],
  ['files of the workspace', { kind: 'fileChange', sandbox: 'sandboxed' }, 'low'],
  ['other files', { kind: 'fileChange', sandbox: 'bare', rule: 'a file lies outside' }, 'high'],
  ['permissions', { kind: 'permissions', permissions }, 'high'],
  ['a tool of a server', { kind: 'mcpToolCall' }, 'high'],
  ['a question to people', { kind: 'userInput' }, 'none'],
])('%s', (_, members, level) => {
  expect(riskOf(proposal(members))).toEqual({ level, text: expect.stringMatching(/^\w.*[^.]$/) });
});
