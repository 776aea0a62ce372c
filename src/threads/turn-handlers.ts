// Starting, steering and stopping turns.

import { AppError, isAppError } from '../base/errors.ts';
import { chosenId, newId } from '../model/ids.ts';
import type { Params } from '../rpc/declare.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import { tenantOf } from './access.ts';
import { contextParts, withFoldersOf } from './beside-input.ts';
import { nothingToDo } from './conflicts.ts';
import { checkInput, checkModalities, takerOf } from './input-check.ts';
import { cappedBy, enqueue } from './queueing.ts';
import type { ThreadRegistry } from './registry.ts';
import type { ThreadRuntime } from './runtime.ts';
import { checkMayRun, type SettingsParts, settingsAfter } from './settings.ts';
import { turnMethods, type turnStart } from './turn-methods.ts';
import type { TurnInput } from './turn-start.ts';
import { newTurnView } from './view.ts';

export interface TurnHandlerParts {
  readonly registry: ThreadRegistry;
  readonly settings: SettingsParts;
  /** What a start does on a busy thread, unless the request says. */
  readonly ifBusy: (client: Context['session']['client']) => Promise<IfBusy>;
}

type IfBusy = 'reject' | 'steer' | 'queue';

/** So often a start to be steered into what runs may find that this has ended and another turn has begun. */
const MOST_RACES = 20;

export function turnHandlers({ registry, settings, ifBusy }: TurnHandlerParts): Route[] {
  const threadOf = (context: Context, threadId: string): Promise<ThreadRuntime> =>
    registry.load(context.session.principal.tenant, threadId);

  /** An id names one turn, for ever. */
  const requireFree = async (context: Context, { threadId, meta }: ThreadRuntime, turnId: string): Promise<void> => {
    const store = await registry.storeOf(tenantOf(context), threadId);
    const waits = meta.queue.some((each) => each.turnId === turnId);
    if (!waits && !(await store?.turn(threadId, turnId))) return;
    throw new AppError('conflict', `there is a turn with the id ${turnId}`, { kind: 'exists', threadId, turnId });
  };

  const startOnce = async (given: Params<typeof turnStart>, context: Context, whenBusy: IfBusy) => {
    const { principal } = context.session;
    const params = withFoldersOf(given);
    if (params.permissions && params.sandboxPolicy) {
      throw new AppError('invalid', '`permissions` cannot be combined with `sandboxPolicy`');
    }
    if (params.toolOutput) throw new AppError('unsupported', 'toolOutput is not supported: give it as input');
    checkOutputSchema(params.outputSchema);
    const beside = contextParts(params.additionalContext, params.input);
    await checkInput(params.input, principal, settings);
    const runtime = await threadOf(context, params.threadId);
    if (runtime.meta.archived) {
      throw new AppError('conflict', `thread ${params.threadId} is archived: unarchive it first`, {
        threadId: params.threadId,
      });
    }
    const clientId = params.clientUserMessageId ?? null;
    for (let active = runtime.activeTurnId; active !== undefined && whenBusy === 'steer'; ) {
      await checkModalities(params.input, takerOf(runtime), settings);
      await checkMayRun(runtime.meta.settings, principal, settings);
      const reply = { turn: newTurnView(active, active) };
      const input = { input: params.input, clientId, isCapped: !principal.isLocal, beside };
      if (await runtime.steer(active, input, context.once(reply))) return reply;
      await runtime.ended(active);
      active = runtime.activeTurnId;
    }
    const active = runtime.activeTurnId;
    const before = runtime.meta.settings;
    const after = await settingsAfter(before, params, context.session, settings);
    await checkModalities(params.input, takerOf(runtime, after), settings);
    // Also when nothing changes: the thread may have been begun by somebody who may do more.
    await checkMayRun(after, principal, settings);
    const turnId = params.turnId ? chosenId('turnId', params.turnId) : newId();
    if (params.turnId) await requireFree(context, runtime, turnId);
    // What waits takes the thread's settings as they are then, so that a start with settings of its own cannot wait.
    const own = ownSettings(params);
    const isPlain = !params.outputSchema && beside.length === 0 && own === undefined;
    const mayWait = whenBusy === 'queue' && after === before && isPlain;
    const wait = () => {
      const { input } = params;
      const queued = {
        ...{ id: newId(), turnId, input, clientUserMessageId: clientId ?? newId() },
        ...{ responsesapiClientMetadata: null, ...cappedBy(principal) },
      };
      const reply = { turn: newTurnView(turnId, turnId), queuedSubmissionId: queued.id };
      return enqueue(runtime, queued, context, reply);
    };
    if (active !== undefined && mayWait) return wait();
    const rootTurnId = params.rootTurnId ?? undefined;
    const reply = { turn: newTurnView(turnId, rootTurnId ?? turnId) };
    const release = runtime.hold();
    let hasStarted = false;
    context.afterReply(() => {
      release();
      if (hasStarted) runtime.begin(turnId);
    });
    const turn = {
      turnId,
      rootTurnId,
      input: params.input,
      clientId,
      outputSchema: params.outputSchema ?? undefined,
      isCapped: !principal.isLocal,
      beside,
      ...(own ? { own } : {}),
    };
    try {
      await runtime.startTurn(turn, after === before ? undefined : after, context.once(reply));
    } catch (error) {
      // One that waited has begun since.
      if (mayWait && isOvertaken(error)) return wait();
      throw error;
    }
    hasStarted = true;
    return reply;
  };

  return implement(turnMethods, {
    turnStart: async (params, context) => {
      const whenBusy = params.ifBusy ?? (await ifBusy(context.session.client));
      for (let left = MOST_RACES; ; left -= 1) {
        try {
          return await startOnce(params, context, whenBusy);
        } catch (error) {
          // What waited has begun in that moment, and is the one to be steered.
          if (whenBusy !== 'steer' || left === 0 || !isOvertaken(error)) throw error;
        }
      }
    },

    turnSteer: async (params, context) => {
      const { threadId, expectedTurnId, input } = params;
      if (expectedTurnId === '') throw new AppError('invalid', 'expectedTurnId must not be empty', { threadId });
      if (input.length === 0) throw new AppError('invalid', 'input must not be empty', { threadId });
      await checkInput(input, context.session.principal, settings);
      const runtime = await threadOf(context, threadId);
      await checkModalities(input, takerOf(runtime), settings);
      await checkMayRun(runtime.meta.settings, context.session.principal, settings);
      const reply = { turnId: expectedTurnId };
      const clientId = params.clientUserMessageId ?? null;
      const isCapped = !context.session.principal.isLocal;
      const beside = contextParts(params.additionalContext, input);
      const isTaken = await runtime.steer(expectedTurnId, { input, clientId, isCapped, beside }, context.once(reply));
      if (!isTaken) throw nothingToDo('steer', threadId);
      return reply;
    },

    turnInterrupt: async ({ threadId, turnId }, context) => {
      const runtime = await threadOf(context, threadId);
      await runtime.interrupt(turnId);
      return { physicallySettled: true };
    },
  });
}

/** Another turn has begun meanwhile. */
const isOvertaken = (error: unknown): boolean =>
  isAppError(error, 'conflict') && error.data.activeTurnId !== undefined && !error.data.codexErrorInfo;

function checkOutputSchema(schema: unknown): void {
  if (schema === undefined || schema === null || (typeof schema === 'object' && !Array.isArray(schema))) return;
  throw new AppError('invalid', 'Invalid request: outputSchema: a JSON schema is an object');
}

/** What holds for this turn alone. */
function ownSettings({ serviceTierForTurn, environments }: Params<typeof turnStart>): TurnInput['own'] {
  const tier = serviceTierForTurn ? { serviceTier: serviceTierForTurn } : {};
  const place = environments?.length === 0 ? { hasEnvironment: false as const } : {};
  const own = { ...tier, ...place };
  return Object.keys(own).length > 0 ? own : undefined;
}
