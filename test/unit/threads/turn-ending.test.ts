// The end of a turn with a change of files under way: what its item says of files that were, or may have been, changed.

import { expect, test } from 'vitest';
import type { ProposalOf } from '../../../src/model/approval.ts';
import type { ItemOf } from '../../../src/model/item.ts';
import type { LiveThread, OpenTurn } from '../../../src/threads/state.ts';
import { endingEvents } from '../../../src/threads/turn-ending.ts';

const ITEM: ItemOf<'fileChange'> = {
  type: 'fileChange',
  id: 'files',
  changes: [{ path: '/w/a', kind: { type: 'add' }, diff: 'x\n' }],
  status: 'inProgress',
  startedAtMs: 1,
  completedAtMs: null,
};

const PROPOSAL: ProposalOf<'fileChange'> = {
  ...{ id: 'approval', kind: 'fileChange', turnId: 'turn', itemId: 'files', callId: 'call', cwd: '/w', reason: null },
  ...{ changes: ITEM.changes, targets: ['/w/a'], sandbox: 'sandboxed', rule: 'r', nonce: 'n' },
  ...{ operationDigest: 'o', policyDigest: 'p', workspaceDigest: 'w', startedAtMs: 1, expiresAtMs: 2 },
};

function endOf(isAsked: boolean, isRecovered: boolean) {
  const turn: OpenTurn = {
    ...{
      id: 'turn',
      rootTurnId: 'turn',
      seq: 1,
      startedAtMs: 1,
      outputSchema: undefined,
      isCapped: false,
      own: undefined,
    },
    isReviewing: false,
    items: new Map([[ITEM.id, ITEM]]),
    lastMessage: null,
    questions: new Map(isAsked ? [[PROPOSAL.id, { proposal: PROPOSAL, requestId: 1, seq: 2 }]] : []),
    steered: [],
    diff: null,
  };
  const thread = { meta: { readState: { firstUnread: null, revision: 'r' } }, head: 9, turn } as unknown as LiveThread;
  const ending = { end: { status: 'interrupted' as const }, atMs: 5, texts: new Map(), isRecovered, context: [] };
  const [first] = endingEvents(thread, turn, ending);
  return first?.type === 'itemCompleted' ? first.item : undefined;
}

test('after a kill it is not known whether the files were changed', () => {
  expect(endOf(false, true)).toEqual({ ...ITEM, status: 'failed', outcome: 'unknown', completedAtMs: 5 });
});

test.each([
  ['a question stood when the server was killed', true, true],
  ['a question stood when the turn was interrupted', true, false],
  ['the turn was interrupted before the change had begun', false, false],
])('nothing was changed when %s', (_when, isAsked, isRecovered) => {
  expect(endOf(isAsked, isRecovered)).toEqual({ ...ITEM, status: 'declined', completedAtMs: 5 });
});
