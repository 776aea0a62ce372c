// The life of a thread: starting, resuming, reading, naming, archiving, deleting.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { ThreadStore } from '../history/store.ts';
import { chosenId, newId, type ThreadId } from '../model/ids.ts';
import type { ThreadMeta, ThreadSettings, ThreadStatus } from '../model/thread.ts';
import { NO_USAGE } from '../model/turn.ts';
import type { Params } from '../rpc/declare.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import type { Subscriber } from './cursor.ts';
import { eventsPage } from './event-page.ts';
import { createListening } from './listening.ts';
import { deprecationNotice, threadGoalCleared } from './notifications.ts';
import { newestCursors, turnsPage, wholeTurns } from './pages.ts';
import type { ThreadRegistry } from './registry.ts';
import type { ThreadRuntime } from './runtime.ts';
import { namesOfOverrides, type SettingsParts, settingsAfter, settingsOfStart } from './settings.ts';
import { threadMethods, type threadResume, type threadStart } from './thread-methods.ts';
import { adoptedView, collaborationModeOf, threadView } from './view.ts';

export interface ThreadHandlerParts {
  readonly registry: ThreadRegistry;
  readonly settings: SettingsParts;
  readonly subscriberOf: (session: Session) => Subscriber;
  readonly clock: Clock;
  /** Our own version, kept with the threads that it begins. */
  readonly version: string;
}

const NOT_LOADED: ThreadStatus = { type: 'notLoaded' };

export function threadHandlers(parts: ThreadHandlerParts): Route[] {
  const { registry, settings } = parts;
  const listening = createListening(registry, parts.subscriberOf);
  const tenantOf = ({ session }: Context) => session.principal.tenant;

  /** A loaded thread, for methods whose clients look for this wording. */
  const loaded = async (context: Context, id: ThreadId): Promise<ThreadRuntime> => {
    try {
      return await registry.load(tenantOf(context), id);
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'notFound') throw error;
      throw new AppError('notFound', `no rollout found for thread id ${id} (thread not found)`, { threadId: id });
    }
  };

  const stored = async (context: Context, id: ThreadId) => {
    const runtime = registry.find(tenantOf(context), id);
    const store = await registry.storeOf(tenantOf(context), id);
    const meta = runtime?.meta ?? (await store?.meta(id));
    if (!store || !meta) throw new AppError('notFound', `thread not found: ${id}`, { threadId: id });
    return { store, meta, status: runtime?.status ?? NOT_LOADED, runtime };
  };

  const requireStored = (runtime: ThreadRuntime, what: string) => {
    if (runtime.meta.ephemeral)
      throw new AppError('invalid', `an ephemeral thread does not support ${what}`, { threadId: runtime.threadId });
  };

  return implement(threadMethods, {
    threadStart: async (params, context) => {
      const { session, afterReply } = context;
      checkEnvironments(params.environments);
      checkToolNames(params.dynamicTools ?? []);
      const adopted = withoutEnvironment(params, await settingsOfStart(params, session.principal, settings));
      const meta = newMeta(params, adopted, session, parts);
      const status: ThreadStatus = { type: 'idle' };
      const reply = adoptedView(meta, status);
      const runtime = await registry.create(tenantOf(context), meta, meta.ephemeral ? undefined : context.once(reply));
      const subscription = listening.join(session, runtime, undefined);
      const release = runtime.hold();
      afterReply(() => {
        registry.tell(tenantOf(context), meta.id, ['started']);
        release();
        subscription.start();
      });
      return reply;
    },

    threadResume: async (params, context) => {
      const { session, afterReply } = context;
      if (params.history || params.path)
        throw new AppError('unsupported', 'thread/resume takes a threadId; history and path are not supported');
      const runtime = await loaded(context, params.threadId);
      if (runtime.meta.archived) {
        throw new AppError('conflict', `thread ${params.threadId} is archived: unarchive it first`, {
          threadId: params.threadId,
        });
      }
      await adoptOnResume(runtime, params, session, settings);
      const { store } = await stored(context, params.threadId);
      const { shown, subscription } = await listening.joinAfter(
        session,
        runtime,
        params.afterEventSeq ?? undefined,
        () => snapshotOf(store, params),
      );
      const { turns, isTruncated, initialTurnsPage, cursors } = shown;
      const isAfter = params.afterEventSeq !== undefined && params.afterEventSeq !== null;
      const headSeq = isAfter ? runtime.seq : subscription.cursor.position;
      if (!params.excludeTurns && runtime.meta.historyMode === 'paginated')
        session.notify(deprecationNotice, TURNS_NOTICE);
      afterReply(() => {
        session.notify(threadGoalCleared, { threadId: params.threadId });
        subscription.start();
      });
      const { meta } = subscription.thread;
      return {
        ...adoptedView(meta, runtime.status, turns),
        collaborationMode: collaborationModeOf(meta.settings),
        initialTurnsPage,
        ...cursors,
        headSeq,
        ...(isTruncated ? { turnsTruncated: true } : {}),
      };
    },

    threadRead: async (params, context) => {
      const { store, meta, status, runtime } = await stored(context, params.threadId);
      const { turns, isTruncated } = params.includeTurns
        ? await wholeTurns(store, params.threadId)
        : { turns: [], isTruncated: false };
      if (params.includeTurns && meta.historyMode === 'paginated')
        context.session.notify(deprecationNotice, TURNS_NOTICE);
      const headSeq = runtime?.seq ?? (await store.head(params.threadId)) ?? 0;
      const after = params.afterEventSeq ?? undefined;
      const events =
        after === undefined ? {} : await eventsPage(store, meta, { after, limit: params.limit ?? undefined, headSeq });
      return {
        thread: threadView(meta, status, turns),
        readState: meta.readState,
        headSeq,
        ...events,
        ...(isTruncated ? { turnsTruncated: true } : {}),
      };
    },

    threadUnsubscribe: async ({ threadId }, context) => {
      const runtime = registry.find(tenantOf(context), threadId);
      if (!runtime) return { status: 'notLoaded' };
      const wasSubscribed = listening.leave(context.session, runtime);
      return { status: wasSubscribed ? 'unsubscribed' : 'notSubscribed' };
    },

    threadNameSet: async ({ threadId, name: given }, context) => {
      const name = given.trim();
      if (name === '') throw new AppError('invalid', 'thread name must not be empty', { threadId });
      const runtime = await loaded(context, threadId);
      requireStored(runtime, 'metadata updates');
      context.afterReply(runtime.hold());
      await runtime.change([{ type: 'threadNamed', name }], context.once({}));
      return {};
    },

    threadArchive: async ({ threadId }, context) => {
      const tenant = tenantOf(context);
      const runtime = await loaded(context, threadId);
      requireStored(runtime, 'archiving');
      await runtime.endTurn();
      await runtime.change([{ type: 'threadArchived' }], context.once({}));
      const { meta } = runtime;
      await registry.unload(tenant, threadId);
      context.afterReply(() => registry.tell(tenant, threadId, ['status', 'archived'], { meta, status: NOT_LOADED }));
      return {};
    },

    threadUnarchive: async ({ threadId }, context) => {
      const tenant = tenantOf(context);
      const runtime = await loaded(context, threadId);
      if (!runtime.meta.archived)
        throw new AppError('conflict', `no archived rollout found for thread id ${threadId}`, { threadId });
      const reply = { thread: threadView({ ...runtime.meta, archived: false }, NOT_LOADED) };
      await runtime.change([{ type: 'threadUnarchived' }], context.once(reply));
      const { meta } = runtime;
      await registry.unload(tenant, threadId);
      context.afterReply(() => registry.tell(tenant, threadId, ['unarchived'], { meta, status: NOT_LOADED }));
      return reply;
    },

    threadDelete: async ({ threadId, dryRun }, context) => {
      const tenant = tenantOf(context);
      if (dryRun) {
        await stored(context, threadId);
        return { threadIds: [threadId] };
      }
      const runtime = await loaded(context, threadId);
      const { meta } = runtime;
      await runtime.endTurn();
      await registry.unload(tenant, threadId);
      if (!meta.ephemeral) await registry.store(tenant).remove(threadId, context.once({}));
      context.afterReply(() => registry.tell(tenant, threadId, ['status', 'deleted'], { meta, status: NOT_LOADED }));
      return {};
    },

    threadRollback: async ({ threadId, numTurns }, context) => {
      const runtime = await loaded(context, threadId);
      await runtime.endTurn();
      const { store } = await stored(context, threadId);
      const { rows } = await store.turns(threadId, { direction: 'desc', limit: numTurns });
      const reverted = rows.map((row) => row.id);
      const { turns } = await wholeTurns(store, threadId);
      // Made before the change, so that it can be stored with it.
      const kept = turns.filter((turn) => !reverted.includes(turn.id));
      const reply = { thread: threadView(runtime.meta, runtime.status, kept) };
      context.afterReply(runtime.hold());
      const firstTurnId = reverted.at(-1);
      if (firstTurnId !== undefined)
        await runtime.change([{ type: 'turnsReverted', firstTurnId, turnIds: reverted }], context.once(reply));
      return reply;
    },

    threadReadStateUpdate: async ({ threadId, operation, expectedRevision }, context) => {
      const runtime = await loaded(context, threadId);
      const { readState } = runtime.meta;
      if (readState.revision !== expectedRevision) {
        throw new AppError('conflict', 'the read state has changed', {
          threadId,
          reason: 'readStateConflict',
          readState,
        });
      }
      if (operation.type === 'unread')
        throw new AppError('unsupported', 'marking a thread as unread is not supported', { threadId });
      await runtime.change([{ type: 'threadRead', throughTurnId: null, revision: newId() }]);
      context.afterReply(() => registry.tell(tenantOf(context), threadId, ['readState']));
      return { readState: runtime.meta.readState };
    },

    threadSettingsUpdate: async ({ threadId, ...overrides }, context) => {
      const runtime = await loaded(context, threadId);
      const before = runtime.meta.settings;
      const after = await settingsAfter(before, overrides, context.session.principal, settings);
      context.afterReply(runtime.hold());
      if (after !== before) await runtime.change([{ type: 'settingsChanged', settings: after }]);
      return {};
    },

    threadGoalGet: async ({ threadId }, context) => {
      await stored(context, threadId);
      return { goal: null };
    },

    threadBackgroundTerminalsList: async ({ threadId }, context) => {
      await stored(context, threadId);
      return { data: [], nextCursor: null };
    },
  });
}

/** What a resume shows of the history. */
async function snapshotOf(store: ThreadStore, params: Params<typeof threadResume>) {
  const { threadId, excludeTurns, initialTurnsPage: page } = params;
  const whole = excludeTurns ? { turns: [], isTruncated: false } : await wholeTurns(store, threadId);
  const initialTurnsPage = page ? await turnsPage(store, threadId, page) : null;
  return { ...whole, initialTurnsPage, cursors: await newestCursors(store, threadId) };
}

const TURNS_NOTICE = {
  summary: 'Reading all turns of a thread at once is deprecated',
  details: 'Read them in pages: thread/turns/list and thread/items/list.',
};

function newMeta(
  params: Params<typeof threadStart>,
  settings: ThreadSettings,
  session: Session,
  parts: ThreadHandlerParts,
): ThreadMeta {
  const id = params.threadId ? chosenId('threadId', params.threadId) : newId();
  const now = parts.clock.now();
  return {
    id,
    createdAtMs: now,
    updatedAtMs: now,
    recencyAtMs: now,
    archived: false,
    name: null,
    preview: '',
    title: params.title ?? null,
    metadata: params.metadata ?? null,
    serviceName: params.serviceName ?? null,
    sessionId: id,
    forkedFromId: null,
    ephemeral: params.ephemeral ?? false,
    historyMode: params.historyMode ?? 'paginated',
    originator: session.client.name,
    threadSource: params.threadSource ?? null,
    createdByVersion: parts.version,
    gitInfo: null,
    settings: { ...settings, dynamicTools: params.dynamicTools ?? [] },
    turnCount: 0,
    usage: NO_USAGE,
    readState: { firstUnread: null, revision: `initial:${id}` },
    failed: false,
  };
}

async function adoptOnResume(
  runtime: ThreadRuntime,
  params: Parameters<typeof settingsAfter>[1],
  session: Session,
  parts: SettingsParts,
): Promise<void> {
  const before = runtime.meta.settings;
  const after = await settingsAfter(before, params, session.principal, parts);
  if (after === before) return;
  const names = namesOfOverrides(before, after);
  if (runtime.activeTurnId !== undefined) {
    throw new AppError('conflict', `a turn is running; not applied: ${names.join(', ')}`, {
      threadId: runtime.threadId,
      activeTurnId: runtime.activeTurnId,
      notApplied: names,
    });
  }
  await runtime.adopt(after);
}

/** An empty list of environments takes away the one there is. */
function withoutEnvironment({ environments }: Params<typeof threadStart>, settings: ThreadSettings): ThreadSettings {
  return environments?.length === 0 ? { ...settings, workspaceRoots: [], hasEnvironment: false } : settings;
}

function checkToolNames(tools: readonly Record<string, unknown>[]): void {
  for (const tool of tools) {
    if (typeof tool.name === 'string' && !/^[a-zA-Z0-9_-]+$/.test(tool.name)) {
      throw new AppError('invalid', `dynamic tool name must match ^[a-zA-Z0-9_-]+$: ${tool.name.slice(0, 100)}`);
    }
    if (Array.isArray(tool.tools))
      checkToolNames(tool.tools.filter((each) => each !== null && typeof each === 'object'));
  }
}

export function checkEnvironments(environments: readonly { environmentId: string }[] | null | undefined): void {
  const unknown = environments?.find(({ environmentId }) => environmentId !== 'local');
  if (unknown) throw new AppError('invalid', `unknown turn environment id \`${unknown.environmentId}\``);
}
