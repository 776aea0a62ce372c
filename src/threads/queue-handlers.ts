// Input that waits until the thread is idle: kept in order, over restarts, and begun when a turn has completed.

import { AppError } from '../base/errors.ts';
import { newId, type TurnId } from '../model/ids.ts';
import type { UserInput } from '../model/input.ts';
import type { QueuedSubmission } from '../model/thread.ts';
import { implement, type Route } from '../rpc/router.ts';
import { createAccess } from './access.ts';
import { checkInput, checkModalities, takerOf } from './input-check.ts';
import { queueMethods } from './queue-methods.ts';
import { checkQueueSize, queuePage } from './queue-pages.ts';
import { cappedBy, enqueue, entryOf } from './queueing.ts';
import type { ThreadRegistry } from './registry.ts';
import { checkMayRun, type SettingsParts } from './settings.ts';
import { newTurnView } from './view.ts';

export function queueHandlers(registry: ThreadRegistry, settings: SettingsParts): Route[] {
  const { loaded, stored } = createAccess(registry);
  return implement(queueMethods, {
    threadQueueAdd: async (params, context) => {
      const { threadId, input, clientUserMessageId } = params;
      checkIsInput(threadId, input);
      await checkInput(input, context.session.principal, settings);
      const runtime = await loaded(context, threadId);
      await checkModalities(input, takerOf(runtime), settings);
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
      return enqueue(runtime, added, context, reply);
    },

    threadQueueList: async (params, context) => {
      const { meta } = await stored(context, params.threadId);
      return queuePage(meta.queue, params, params.threadId);
    },

    threadQueueUpdate: async (params, context) => {
      const { threadId, queuedSubmissionId, input } = params;
      checkIsInput(threadId, input);
      await checkInput(input, context.session.principal, settings);
      const runtime = await loaded(context, threadId);
      await checkModalities(input, takerOf(runtime), settings);
      context.afterReply(runtime.hold());
      return runtime.queue.change((queue) => {
        const known = entryOf(queue, queuedSubmissionId);
        const metadata = params.responsesapiClientMetadata ?? known.responsesapiClientMetadata;
        const capped = cappedBy(context.session.principal);
        const updated: QueuedSubmission = { ...known, input, responsesapiClientMetadata: metadata, ...capped };
        const after = queue.map((each) => (each === known ? updated : each));
        checkQueueSize(after, threadId);
        return { queue: after, reply: { queuedSubmission: updated } };
      }, context.once);
    },

    threadQueueReorder: async ({ threadId, queuedSubmissionIds: ids }, context) => {
      const runtime = await loaded(context, threadId);
      context.afterReply(runtime.hold());
      return runtime.queue.change((queue) => {
        const ordered = ids.flatMap((id) => queue.filter((each) => each.id === id));
        if (ordered.length !== queue.length || new Set(ids).size !== queue.length) {
          const text = 'queue reorder must include every queued submission exactly once';
          throw new AppError('invalid', text, { threadId });
        }
        return { queue: ordered, reply: {} };
      }, context.once);
    },

    threadQueueDelete: async ({ threadId, queuedSubmissionId }, context) => {
      const runtime = await loaded(context, threadId);
      context.afterReply(runtime.hold());
      return runtime.queue.change((queue) => {
        const rest = queue.filter((each) => each.id !== queuedSubmissionId);
        const deleted = rest.length < queue.length;
        return { queue: deleted ? rest : undefined, reply: { deleted } };
      }, context.once);
    },

    threadQueueStart: async ({ threadId, queuedSubmissionId }, context) => {
      const runtime = await loaded(context, threadId);
      const { principal } = context.session;
      await checkMayRun(runtime.meta.settings, principal, settings);
      const release = runtime.hold();
      let begin = () => {};
      context.afterReply(() => {
        release();
        begin();
      });
      const replyOf = (turnId: TurnId) => ({ turn: newTurnView(turnId, turnId) });
      const wanted = { id: queuedSubmissionId ?? undefined, isCapped: !principal.isLocal };
      const turnId = await runtime.queue.start(wanted, (id) => context.once(replyOf(id)));
      begin = () => runtime.begin(turnId);
      return replyOf(turnId);
    },
  });
}

function checkIsInput(threadId: string, input: readonly UserInput[]): void {
  if (input.length > 0) return;
  throw new AppError('invalid', 'only user input can be added to the user-message queue', { threadId });
}
