// News for those who see the list of threads: told at once, or the newest of each when there is room again.

import { expect, test } from 'vitest';
import { localPrincipal } from '../../../src/auth/principal.ts';
import type { Session, Sessions } from '../../../src/rpc/session.ts';
import type { AttachmentNotice } from '../../../src/threads/notices.ts';
import { Notices } from '../../../src/threads/notices.ts';
import { threadMeta } from '../../harness/history-events.ts';

/** A session that has no room until it is given some. */
function slowSession() {
  const told: [string, unknown][] = [];
  let makeRoom = () => {};
  const room = new Promise<void>((resolve) => {
    makeRoom = resolve;
  });
  const session = {
    id: 's',
    principal: localPrincipal,
    signal: new AbortController().signal,
    peer: { outbox: { isFull: () => true, hasRoom: () => room } },
    notify: (kind: { method: string }, params: unknown) => told.push([kind.method, params]),
  } as unknown as Session;
  return { told, makeRoom, sessions: [session] as unknown as Sessions };
}

const attachment = (identityKey: string, operation: 'created' | 'deleted'): AttachmentNotice => ({
  attachment: { threadId: 't', attachmentType: 'n', identityKey, attachmentId: `id-${identityKey}`, operation },
});

test('a session without room is told the newest of everything once, and of so many attachments at most', async () => {
  const { told, makeRoom, sessions } = slowSession();
  const notices = new Notices(sessions);
  const section = { id: 's2', position: 'U', enteredAtMs: 1 };
  const newest = () => ({ meta: threadMeta('t', { section, name: 'newest' }), status: { type: 'idle' as const } });
  const tell = (kinds: Parameters<Notices['tell']>[2]) => notices.tell('local', 't', kinds, newest);
  tell(['section', attachment('a', 'created')]);
  tell(['name', 'section']);
  tell([attachment('a', 'deleted')]);
  for (let index = 0; index < 150; index += 1) tell([attachment(`k${index}`, 'created')]);
  expect(told).toEqual([]);
  makeRoom();
  await new Promise((resolve) => setImmediate(resolve));
  expect(told.slice(0, 2)).toEqual([
    ['thread/name/updated', { threadId: 't', threadName: 'newest' }],
    ['thread/section/changed', { threadId: 't', sectionId: 's2' }],
  ]);
  const later = told.slice(2).map(([, params]) => (params as AttachmentNotice['attachment']).identityKey);
  expect(later).toEqual(Array.from({ length: 100 }, (_, index) => `k${index + 50}`));
});

test('of an attachment that came and went meanwhile only its end is told', async () => {
  const { told, makeRoom, sessions } = slowSession();
  const notices = new Notices(sessions);
  for (const operation of ['created', 'deleted'] as const)
    notices.tell('local', 't', [attachment('a', operation)], () => undefined);
  makeRoom();
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([['thread/attachment/updated', attachment('a', 'deleted').attachment]]);
});
