// Input that waits until the thread is idle: kept in order, over restarts, and begun when a turn has completed.

import { AppError } from '../base/errors.ts';
import { pageOf } from '../base/page.ts';
import { newId } from '../model/ids.ts';
import type { UserInput } from '../model/input.ts';
import type { QueuedSubmission } from '../model/thread.ts';
import { implement, type Route } from '../rpc/router.ts';
import { createAccess } from './access.ts';
import { queueMethods } from './queue-methods.ts';
import { cappedBy, enqueue } from './queueing.ts';
import type { ThreadRegistry } from './registry.ts';
import { checkInput, checkMayRun, type SettingsParts } from './settings.ts';
import { newTurnView } from './view.ts';

export function queueHandlers(registry: ThreadRegistry, settings: SettingsParts): Route[] {
  const { loaded, stored } = createAccess(registry);
  return implement(queueMethods, {
    threadQueueAdd: async (params, context) => {
      const { threadId, input, clientUserMessageId } = params;
      checkIsInput(threadId, input);
      await checkInput(input, context.session.principal, settings);
      const runtime = await loaded(context, threadId);
      const { principal } = context.session;
      await checkMayRun(runtime.meta.settings, principal, settings);
      const added: QueuedSubmission = {
        id: newId(),
        input,
        clientUserMessageId,
        responsesapiClientMetadata: params.responsesapiClientMetadata ?? null,
        ...cappedBy(principal),
      };
      const reply = { queuedSubmission: added };
      await enqueue(runtime, added, context, reply);
      return reply;
    },

    threadQueueList: async (params, context) => {
      const { meta } = await stored(context, params.threadId);
      const { data, nextCursor } = pageOf(meta.queue, params);
      return { data: [...data], nextCursor };
    },

    threadQueueUpdate: async (params, context) => {
      const { threadId, queuedSubmissionId, input } = params;
      checkIsInput(threadId, input);
      await checkInput(input, context.session.principal, settings);
      const runtime = await loaded(context, threadId);
      const known = entryOf(runtime.meta.queue, queuedSubmissionId);
      const metadata = params.responsesapiClientMetadata ?? known.responsesapiClientMetadata;
      const capped = cappedBy(context.session.principal);
      const updated: QueuedSubmission = { ...known, input, responsesapiClientMetadata: metadata, ...capped };
      const reply = { queuedSubmission: updated };
      const queue = runtime.meta.queue.map((each) => (each.id === updated.id ? updated : each));
      context.afterReply(runtime.hold());
      await runtime.change([{ type: 'queueChanged', queue }], context.once(reply));
      return reply;
    },

    threadQueueReorder: async ({ threadId, queuedSubmissionIds: ids }, context) => {
      const runtime = await loaded(context, threadId);
      const { queue } = runtime.meta;
      const ordered = ids.flatMap((id) => queue.filter((each) => each.id === id));
      if (ordered.length !== queue.length || new Set(ids).size !== queue.length) {
        throw new AppError('invalid', 'queue reorder must include every queued submission exactly once', { threadId });
      }
      context.afterReply(runtime.hold());
      await runtime.change([{ type: 'queueChanged', queue: ordered }], context.once({}));
      return {};
    },

    threadQueueDelete: async ({ threadId, queuedSubmissionId }, context) => {
      const runtime = await loaded(context, threadId);
      const queue = runtime.meta.queue.filter((each) => each.id !== queuedSubmissionId);
      if (queue.length === runtime.meta.queue.length) {
        const once = context.once({ deleted: false });
        if (once) await runtime.change([], once);
        return { deleted: false };
      }
      context.afterReply(runtime.hold());
      await runtime.change([{ type: 'queueChanged', queue }], context.once({ deleted: true }));
      return { deleted: true };
    },

    threadQueueStart: async ({ threadId, queuedSubmissionId }, context) => {
      const runtime = await loaded(context, threadId);
      const { queue } = runtime.meta;
      const { principal } = context.session;
      await checkMayRun(runtime.meta.settings, principal, settings);
      const next = queuedSubmissionId ? entryOf(queue, queuedSubmissionId) : queue[0];
      if (!next) throw new AppError('conflict', 'no queued submission to start', { threadId });
      const turnId = next.turnId ?? newId();
      const reply = { turn: newTurnView(turnId, turnId) };
      const release = runtime.hold();
      context.afterReply(() => {
        release();
        runtime.begin(turnId);
      });
      await runtime.startQueued({ ...next, ...cappedBy(principal) }, turnId, context.once(reply));
      return reply;
    },
  });
}

function checkIsInput(threadId: string, input: readonly UserInput[]): void {
  if (input.length > 0) return;
  throw new AppError('invalid', 'only user input can be added to the user-message queue', { threadId });
}

function entryOf(queue: readonly QueuedSubmission[], id: string): QueuedSubmission {
  const known = queue.find((each) => each.id === id);
  if (!known) throw new AppError('notFound', `queued submission not found: ${id}`);
  return known;
}
