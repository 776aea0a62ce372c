// What is attached to threads: references and notes of clients, found by thread or by what they stand for. No file is touched.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { newId } from '../model/ids.ts';
import type { Attachment } from '../model/thread.ts';
import { implement, type Route } from '../rpc/router.ts';
import { createAccess, requireStored, tenantOf } from './access.ts';
import { attachmentMethods } from './attachment-methods.ts';
import { decodeCursor, encodeCursor, isSeq } from './cursors.ts';
import { limitOf } from './pages.ts';
import type { ThreadRegistry } from './registry.ts';
import { seconds } from './view.ts';

const MAX_PAGE = 100;

export function attachmentHandlers(registry: ThreadRegistry, clock: Clock): Route[] {
  const { loaded, stored } = createAccess(registry);
  return implement(attachmentMethods, {
    threadAttachmentAdd: async ({ threadId, attachmentType, identityKey, payload }, context) => {
      checkIdentity(attachmentType, identityKey);
      const runtime = await loaded(context, threadId);
      requireStored(runtime, 'attachments');
      const known = await registry.store(tenantOf(context)).attachments.find(threadId, attachmentType, identityKey);
      const attachment = known ?? {
        id: newId(),
        attachmentType,
        identityKey,
        payload: JSON.stringify(payload),
        createdAtMs: clock.now(),
      };
      const outcome = known ? ('existing' as const) : ('created' as const);
      const reply = { outcome, attachment: attachmentView(attachment) };
      context.afterReply(runtime.hold());
      await runtime.change(known ? [] : [{ type: 'attachmentAdded', attachment }], context.once(reply));
      return reply;
    },

    threadAttachmentRemove: async ({ threadId, attachmentType, identityKey }, context) => {
      checkIdentity(attachmentType, identityKey);
      const runtime = await loaded(context, threadId);
      requireStored(runtime, 'attachments');
      const known = await registry.store(tenantOf(context)).attachments.find(threadId, attachmentType, identityKey);
      context.afterReply(runtime.hold());
      await runtime.change(
        known ? [{ type: 'attachmentRemoved', attachmentId: known.id, attachmentType, identityKey }] : [],
        context.once({}),
      );
      return {};
    },

    threadAttachmentList: async ({ threadId, cursor, limit }, context) => {
      const { store } = await stored(context, threadId);
      const scope = ['thread/attachment/list', threadId];
      const after = cursor ? decodeCursor(scope, cursor, isSeq).key : undefined;
      const { rows, hasMore } = await store.attachments.page(threadId, limitOf(limit, MAX_PAGE), after);
      const last = rows.at(-1);
      return {
        data: rows.map(({ attachment }) => attachmentView(attachment)),
        nextCursor: hasMore && last ? encodeCursor(scope, { key: last.seq, inclusive: false }) : null,
      };
    },

    threadAttachmentOwnerList: async ({ attachmentType, identityKey, archived, cursor, limit }, context) => {
      checkIdentity(attachmentType, identityKey);
      const scope = ['thread/attachmentOwner/list', attachmentType, identityKey, archived ?? null];
      const { attachments } = registry.store(tenantOf(context));
      const { rows, hasMore } = await attachments.owners(attachmentType, identityKey, {
        limit: limitOf(limit, MAX_PAGE),
        ...(cursor ? { after: decodeCursor(scope, cursor, isThreadId).key } : {}),
        ...(typeof archived === 'boolean' ? { archived } : {}),
      });
      const last = rows.at(-1);
      return {
        data: rows.map((meta) => ({ threadId: meta.id, archived: meta.archived })),
        nextCursor: hasMore && last ? encodeCursor(scope, { key: last.id, inclusive: false }) : null,
      };
    },
  });
}

const isThreadId = (key: unknown): key is string => typeof key === 'string';

function checkIdentity(attachmentType: string, identityKey: string): void {
  if (attachmentType === '') throw new AppError('invalid', 'attachmentType must not be empty');
  if (identityKey === '') throw new AppError('invalid', 'identityKey must not be empty');
}

function attachmentView({ id, attachmentType, identityKey, payload, createdAtMs }: Attachment) {
  return { id, attachmentType, identityKey, payload: JSON.parse(payload) as unknown, createdAt: seconds(createdAtMs) };
}
