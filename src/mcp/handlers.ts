// Serves what clients ask about MCP servers: over the connections of a thread, or those that all share.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { pageOf } from '../base/page.ts';
import { deferred } from '../base/signals.ts';
import { checkEnvironment } from '../fs/environments.ts';
import type { ThreadId } from '../model/ids.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import { refusalOf } from './call.ts';
import type { McpResources } from './inventory.ts';
import { mcpMethods, mcpServerOauthLoginCompleted } from './methods.ts';
import { cappedResult } from './result.ts';
import type { ServerSet, SetEntry } from './server-set.ts';
import type { McpServers } from './servers.ts';
import { statusOf } from './status.ts';

export interface McpHandlerParts {
  readonly servers: McpServers;
  /** The connections of a thread, which is loaded for it; rejects as *notFound*. */
  readonly ofThread: (context: Context, threadId: ThreadId) => Promise<ServerSet>;
  readonly clock: Clock;
}

/** How long the list waits for servers that are starting, or tell what they have, in milliseconds. */
const LIST_MS = 5_000;
/** How long people may take to log in. */
const LOGIN_SECONDS = 300;
const NOTHING: McpResources = { resources: [], templates: [] };

export function mcpHandlers({ servers, ofThread, clock }: McpHandlerParts): Route[] {
  const withSet = async <T>(
    context: Context,
    threadId: ThreadId | null | undefined,
    work: (set: ServerSet) => Promise<T>,
  ): Promise<T> => (threadId ? work(await ofThread(context, threadId)) : servers.withShared(work));

  /** What comes in time. */
  const soon = async <T>(work: Promise<T>, otherwise: T): Promise<T> => {
    let stop = () => {};
    const late = new Promise<T>((resolve) => {
      stop = clock.timer(LIST_MS, () => resolve(otherwise));
    });
    return Promise.race([work.catch(() => otherwise), late]).finally(() => stop());
  };

  return implement(mcpMethods, {
    mcpServerStatusList: async (params, context) => {
      checkEnvironment(params.environmentId);
      return withSet(context, params.threadId, async (set) => {
        await set.start();
        const isOfThread = Boolean(params.threadId);
        const wanted = set.entries.filter(({ server }) => !params.serverName || server.name === params.serverName);
        const page = pageOf(wanted, params, {
          scope: ['mcpServerStatus/list', params.threadId ?? ''],
          keyOf: ({ server }) => server.name,
        });
        const statusWith = async (entry: SetEntry) => {
          const { connection } = entry;
          if (!isOfThread) await soon(connection?.begun ?? Promise.resolve(), undefined);
          const isFull = params.detail !== 'toolsAndAuthOnly' && connection?.state.kind === 'ready';
          const resources = isFull ? await soon(connection.resources(), NOTHING) : NOTHING;
          return statusOf(entry, resources, { isOfThread, isLoggedIn: await servers.isLoggedIn(entry.server) });
        };
        return { ...page, data: await Promise.all(page.data.map(statusWith)) };
      });
    },

    mcpServerToolCall: async (params, context) => {
      checkEnvironment(params.environmentId);
      const set = await ofThread(context, params.threadId);
      const call = {
        tool: params.tool,
        arguments: argumentsOf(params.arguments),
        ...(params._meta ? { meta: params._meta } : {}),
      };
      const answer = await set.call(params.server, call, { signal: context.signal });
      if (answer.kind !== 'result') throw refusalOf(answer);
      const { content, structuredContent, isError, meta } = cappedResult(answer);
      return {
        content,
        ...(structuredContent === null ? {} : { structuredContent }),
        ...(isError ? { isError } : {}),
        ...(meta === null ? {} : { _meta: meta }),
      };
    },

    mcpServerResourceRead: async (params, context) => {
      checkEnvironment(params.environmentId);
      return withSet(context, params.threadId, async (set) => {
        const { signal } = context;
        const read = set.read(params.server, signal, (connection) =>
          connection.readResource(params.uri, params._meta ?? undefined, { signal }),
        );
        const { contents } = await read.catch((error: unknown) => {
          throw errorOfServer(error);
        });
        return { contents: [...contents], originCallId: null };
      });
    },

    mcpServerOauthLogin: async (params, context) => {
      const { name, threadId, scopes, timeoutSecs, clientRegistration } = params;
      checkEnvironment(params.environmentId);
      const { session, afterReply } = context;
      const set = threadId ? await ofThread(context, threadId) : undefined;
      await set?.start();
      const ended = deferred<{ readonly loginId: string; readonly error: string | undefined }>();
      const timeoutMs = (timeoutSecs ?? LOGIN_SECONDS) * 1000;
      const options = { scope: scopes?.join(' '), timeoutMs, registration: clientRegistration ?? 'auto' };
      const begun = await servers.login(
        name,
        set?.entries.map(({ server }) => server),
        options,
        (loginId, error) => ended.resolve({ loginId, error }),
      );
      afterReply(() => {
        void ended.promise.then(({ loginId, error }) => {
          const end = { name, threadId: threadId ?? null, loginId, success: error === undefined };
          session.notify(mcpServerOauthLoginCompleted, error === undefined ? end : { ...end, error });
        });
      });
      return begun;
    },

    configMcpServerReload: async () => {
      await servers.reload();
      return {};
    },
  });
}

function argumentsOf(given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object' || Array.isArray(given))
    throw new AppError('invalid', 'the arguments of a tool are a JSON object');
  return given as Record<string, unknown>;
}

const INVALID_PARAMS = -32602;

/** The server's own word on what was wrong, as far as it is one of ours. */
function errorOfServer(error: unknown): unknown {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (error instanceof AppError || typeof code !== 'number' || typeof message !== 'string') return error;
  return new AppError(code === INVALID_PARAMS ? 'invalid' : 'internal', message, { mcpCode: code });
}
