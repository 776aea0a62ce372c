// What is known about a thread beside its history.

import { AppError } from '../base/errors.ts';
import { newId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import type { Params } from '../rpc/declare.ts';
import { implement, type Route } from '../rpc/router.ts';
import { createAccess, requireStored, tenantOf } from './access.ts';
import { refuseOtherPlace } from './beside-input.ts';
import { metadataMethods, type threadMetadataUpdate } from './metadata-methods.ts';
import type { ThreadRegistry } from './registry.ts';
import { type SettingsParts, settingsAfter } from './settings.ts';
import { threadView } from './view.ts';

export function metadataHandlers(registry: ThreadRegistry, settings: SettingsParts): Route[] {
  const { loaded } = createAccess(registry);
  return implement(metadataMethods, {
    threadMetadataUpdate: async (params, context) => {
      const { threadId } = params;
      const gitInfo = changedGitInfo(params);
      const runtime = await loaded(context, threadId);
      requireStored(runtime, 'metadata updates');
      const after = { ...(runtime.meta.gitInfo ?? { sha: null, branch: null, originUrl: null }), ...gitInfo };
      return runtime.answer(
        [{ type: 'gitInfoChanged', gitInfo: after }],
        ({ meta, head }, status) => ({
          thread: threadView(meta, status, registry.sectionOf(tenantOf(context), meta)),
          headSeq: head,
        }),
        context.once,
      );
    },

    threadReadStateUpdate: async ({ threadId, operation, expectedRevision }, context) => {
      const runtime = await loaded(context, threadId);
      const { readState } = runtime.meta;
      if (readState.revision !== expectedRevision) {
        const data = { threadId, reason: 'readStateConflict', readState };
        throw new AppError('conflict', 'the read state has changed', data);
      }
      const revision = newId();
      const isRead = operation.type === 'read';
      const after = { firstUnread: isRead ? null : { type: 'threadStart' as const }, revision };
      const reply = { readState: after };
      await runtime.change(
        [isRead ? { type: 'threadRead', throughTurnId: null, revision } : { type: 'threadUnread', revision }],
        context.once(reply),
      );
      context.afterReply(() => registry.tell(tenantOf(context), threadId, ['readState']));
      return reply;
    },

    threadSettingsUpdate: async ({ threadId, environments, ...overrides }, context) => {
      const runtime = await loaded(context, threadId);
      const before = runtime.meta.settings;
      refuseOtherPlace(environments, overrides.cwd ?? before.cwd);
      const after = await settingsAfter(before, overrides, context.session, settings);
      context.afterReply(runtime.hold());
      const once = context.once({});
      if (after !== before) await runtime.change([{ type: 'settingsChanged', settings: after }], once);
      else if (once) await runtime.change([], once);
      return {};
    },
  });
}

function changedGitInfo({
  threadId,
  gitInfo,
  projectId,
}: Params<typeof threadMetadataUpdate>): Partial<NonNullable<ThreadMeta['gitInfo']>> {
  if (projectId) throw new AppError('notFound', `project not found: ${projectId}`, { threadId });
  if (!gitInfo) throw new AppError('invalid', 'thread metadata update must include at least one field', { threadId });
  const changes = Object.entries(gitInfo).filter(([, value]) => value !== undefined);
  if (changes.length === 0) throw new AppError('invalid', 'gitInfo must include at least one field', { threadId });
  const empty = changes.find(([, value]) => value === '');
  if (empty) throw new AppError('invalid', `gitInfo.${empty[0]} must not be empty`, { threadId });
  return Object.fromEntries(changes);
}
