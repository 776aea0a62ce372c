// The life of a thread: starting, resuming, reading, naming, archiving, deleting.

import type { Principal } from '../auth/principal.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { hasProvider } from '../config/providers.ts';
import { remoteNames } from '../fs/denials.ts';
import { gitInfoOf } from '../fs/git-info.ts';
import type { ThreadStore } from '../history/store.ts';
import { chosenId, newId } from '../model/ids.ts';
import type { ThreadMeta, ThreadSettings, ThreadStatus } from '../model/thread.ts';
import type { Params, ResultInput } from '../rpc/declare.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import { createAccess, tenantOf } from './access.ts';
import { withFoldersOf } from './beside-input.ts';
import { checkClientTools } from './client-tools.ts';
import type { Subscriber } from './cursor.ts';
import { checkPlace, eventsPage } from './event-page.ts';
import { createListening } from './listening.ts';
import { newMeta } from './new-meta.ts';
import { threadGoalCleared, threadGoalUpdated, warning } from './notifications.ts';
import { giveOwn, ownServersOf } from './own-servers.ts';
import { tellOfPages } from './page-advice.ts';
import { newestCursors, turnsPage, wholeTurns } from './pages.ts';
import type { PendingApprovals } from './pending-approvals.ts';
import type { ThreadRegistry } from './registry.ts';
import type { ThreadRuntime } from './runtime.ts';
import { folderOfStart, namesOfOverrides, type SettingsParts, settingsAfter, settingsOfStart } from './settings.ts';
import { readStored } from './steady-read.ts';
import { type InstructionSource, instructionEvents, instructionsOfStart } from './thread-instructions.ts';
import { threadMethods, type threadResume, type threadStart } from './thread-methods.ts';
import { adoptedView, collaborationModeOf, threadView } from './view.ts';

export interface ThreadHandlerParts {
  readonly registry: ThreadRegistry;
  readonly settings: SettingsParts;
  readonly subscriberOf: (session: Session) => Subscriber;
  readonly instructions: InstructionSource;
  readonly pending: PendingApprovals;
  /** Tells a client what does not count of the settings of a folder. */
  readonly tellOfFolder: (session: Session, folder: string) => void;
  readonly clock: Clock;
  /** Our own version, kept with the threads that it begins. */
  readonly version: string;
}

export function threadHandlers(parts: ThreadHandlerParts): Route[] {
  const { registry, settings } = parts;
  const listening = createListening(registry, parts.subscriberOf);
  const { loaded, stored } = createAccess(registry);

  return implement(
    threadMethods,
    {
      threadStart: async (given, context) => {
        const { session, afterReply } = context;
        const params = withFoldersOf(given);
        checkClientTools(params.dynamicTools ?? []);
        parts.tellOfFolder(session, folderOfStart(params, session.client, settings));
        const wanted = withoutEnvironment(params, await settingsOfStart(params, session, settings));
        const own = await ownServersOf(params, session.client, settings, wanted.cwd);
        const [instructions, gitInfo = null] = await Promise.all([
          instructionsOfStart(wanted, session, parts.instructions),
          gitInfoOf(wanted.cwd, await readerOf(session.principal, settings)),
        ]);
        const adopted = { ...wanted, instructionSources: instructions.sources };
        const meta = { ...wantedMeta(params, adopted, session, parts), gitInfo };
        const status: ThreadStatus = { type: 'idle' };
        const first = instructionEvents(instructions, meta.createdAtMs);
        // The thread's beginning is an event too.
        const headSeq = first.length + 1;
        const reply = { ...adoptedView(meta, status, null), headSeq };
        const runtime = await registry.create(tenantOf(context), meta, first, context.once(reply));
        await giveOwn(runtime, session.client, own);
        const subscription = listening.join(session, runtime, headSeq);
        const release = runtime.hold();
        afterReply(() => {
          registry.tell(tenantOf(context), meta.id, ['started']);
          release();
          subscription.start();
          for (const message of instructions.problems) session.notify(warning, { threadId: meta.id, message });
        });
        return reply;
      },

      threadResume: async (params, context) => {
        const { session, afterReply } = context;
        if (params.history || params.path)
          throw new AppError('unsupported', 'thread/resume takes a threadId; history and path are not supported');
        const wasLoaded = registry.find(tenantOf(context), params.threadId) !== undefined;
        const runtime = await loaded(context, params.threadId);
        if (!wasLoaded) registry.tell(tenantOf(context), params.threadId, ['status']);
        if (runtime.meta.archived) {
          throw new AppError('conflict', `thread ${params.threadId} is archived: unarchive it first`, {
            threadId: params.threadId,
          });
        }
        const own = await ownServersOf(params, session.client, settings, runtime.meta.settings.cwd);
        await adoptOnResume(runtime, params, session, settings);
        await giveOwn(runtime, session.client, own);
        const { store } = await stored(context, params.threadId);
        const after = params.afterEventSeq ?? undefined;
        if (after !== undefined) await checkPlace(store, params.threadId, after, runtime.place().thread.head);
        const { shown, subscription } = await listening.joinAfter(session, runtime, after, () =>
          snapshotOf(store, params),
        );
        const { turns, isTruncated, initialTurnsPage, cursors } = shown;
        if (!params.excludeTurns) tellOfPages(session, runtime.meta);
        const { meta, head } = subscription.thread;
        const { config } = await settings.config.viewOf(runtime.ownSettings).state();
        const isProviderGone = !hasProvider(config, meta.settings.modelProvider);
        afterReply(() => {
          tellGoal(session, meta);
          if (isProviderGone) tellOfProvider(session, meta);
          subscription.start();
        });
        return {
          ...adoptedView(meta, runtime.status, registry.sectionOf(tenantOf(context), meta), turns),
          collaborationMode: collaborationModeOf(meta.settings),
          initialTurnsPage,
          ...cursors,
          headSeq: head,
          ...(isTruncated ? { turnsTruncated: true } : {}),
          ...parts.pending.told(session.principal, params.threadId),
        };
      },

      threadRead: async (params, context) => {
        const { principal } = context.session;
        await parts.pending.ready(principal);
        const find = () => stored(context, params.threadId);
        const { store, status } = await find();
        const read = () => (params.includeTurns ? wholeTurns(store, params.threadId) : Promise.resolve(NO_TURNS));
        const { shown, meta, headSeq } = await readStored(params.threadId, find, read);
        const { turns, isTruncated } = shown;
        if (params.includeTurns) tellOfPages(context.session, meta);
        const after = params.afterEventSeq ?? undefined;
        const events =
          after === undefined
            ? {}
            : await eventsPage(store, meta, { after, limit: params.limit ?? undefined, headSeq });
        return {
          thread: threadView(meta, status, registry.sectionOf(tenantOf(context), meta), turns),
          readState: meta.readState,
          headSeq,
          ...events,
          ...(isTruncated ? { turnsTruncated: true } : {}),
          ...parts.pending.told(principal, params.threadId),
        };
      },

      threadUnsubscribe: async ({ threadId }, context) => {
        const runtime = registry.find(tenantOf(context), threadId);
        if (!runtime) return { status: 'notLoaded' };
        const wasSubscribed = listening.leave(context.session, runtime);
        return { status: wasSubscribed ? 'unsubscribed' : 'notSubscribed' };
      },
    },
    {
      threadStart: async (reply: ResultInput<typeof threadStart>, _params, context) => {
        const { thread, headSeq } = reply;
        await listening.rejoin(context, thread.id, async () => {}, headSeq);
        return reply;
      },
    },
  );
}

const NO_TURNS: Awaited<ReturnType<typeof wholeTurns>> = { turns: [], isTruncated: false };

/** A client that resumes is told the goal, or that there is none. */
function tellGoal(session: Session, { id: threadId, goal }: ThreadMeta): void {
  if (goal) session.notify(threadGoalUpdated, { threadId, turnId: null, goal });
  else session.notify(threadGoalCleared, { threadId });
}

/** The thread is whole without it; only its next turn needs another one. */
function tellOfProvider(session: Session, { id: threadId, settings }: ThreadMeta): void {
  const message = `the model provider ${settings.modelProvider} of this thread is not configured any more: name another one (modelProvider, model) with the next turn`;
  session.notify(warning, { threadId, message });
}

/** What a resume shows of the history. */
async function snapshotOf(store: ThreadStore, params: Params<typeof threadResume>) {
  const { threadId, excludeTurns, initialTurnsPage: page } = params;
  const whole = excludeTurns ? NO_TURNS : await wholeTurns(store, threadId);
  const initialTurnsPage = page ? await turnsPage(store, threadId, page) : null;
  return { ...whole, initialTurnsPage, cursors: await newestCursors(store, threadId) };
}

function wantedMeta(
  params: Params<typeof threadStart>,
  settings: ThreadSettings,
  session: Session,
  { clock, version }: ThreadHandlerParts,
): ThreadMeta {
  const id = params.threadId ? chosenId('threadId', params.threadId) : newId();
  const withTools = { ...settings, dynamicTools: params.dynamicTools ?? [] };
  return {
    ...newMeta({ id, atMs: clock.now(), settings: withTools, session, version }),
    title: params.title ?? null,
    metadata: params.metadata ?? null,
    serviceName: params.serviceName ?? null,
    ephemeral: params.ephemeral ?? false,
    historyMode: params.historyMode ?? 'paginated',
    threadSource: params.threadSource ?? null,
  };
}

async function adoptOnResume(
  runtime: ThreadRuntime,
  params: Parameters<typeof settingsAfter>[1],
  session: Session,
  parts: SettingsParts,
): Promise<void> {
  const before = runtime.meta.settings;
  const after = await settingsAfter(before, params, session, parts);
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

/** Whether this client may learn what lies at a real path. */
async function readerOf(
  { isLocal }: Principal,
  { config }: SettingsParts,
): Promise<(real: string) => Promise<boolean>> {
  return isLocal ? async () => true : remoteNames(await config.load());
}
