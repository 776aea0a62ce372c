// Searching for files: once, or in a session that follows what somebody types.

import { resolve } from 'node:path';
import { AppError } from '../base/errors.ts';
import { deferred, onAbort } from '../base/signals.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import { FileSearch, type SearchListener, type SearchParts, type SearchRoot } from './file-search.ts';
import type { Reach, Reaches } from './reach.ts';
import type { FoundFile } from './search-messages.ts';
import { fuzzyFileSearchSessionCompleted, fuzzyFileSearchSessionUpdated, searchMethods } from './search-methods.ts';

const MAX_SESSIONS = 32;

export interface SearchHandlerParts extends Omit<SearchParts, 'list'> {
  readonly list: Omit<SearchParts['list'], 'reach'>;
  readonly reaches: Reaches;
  /** What relative roots are relative to. */
  readonly cwd: string;
}

const keyOf = (sessionId: string): string => `search:${sessionId}`;

export function searchHandlers({ reaches, cwd, list, ...rest }: SearchHandlerParts): Route[] {
  /** One-time searches that can be ended, by connection and token. */
  const running = new WeakMap<Session, Map<string, () => void>>();

  async function begin(context: Context, roots: readonly string[], listener: SearchListener): Promise<FileSearch> {
    const reach = await reaches.of(context.session.principal);
    const places = await Promise.all(roots.map((root) => placeOf(root, reach, context.session.client.cwd ?? cwd)));
    return new FileSearch(places, { ...rest, list: { ...list, reach } }, listener);
  }

  async function placeOf(root: string, reach: Reach, base: string): Promise<SearchRoot> {
    const path = resolve(base, root);
    return { name: root, path: reach.isConfined ? await reach.real(path, 'target') : path };
  }

  /** Settles with the best when the search is complete, or with those so far when it is ended. */
  async function searchOnce(context: Context, query: string, roots: readonly string[], token: string | undefined) {
    const outcome = deferred<readonly FoundFile[]>();
    let best: readonly FoundFile[] = [];
    const search = await begin(context, roots, {
      found(_query, files, isComplete) {
        best = files;
        if (isComplete) outcome.resolve(files);
      },
      failed: outcome.reject,
    });
    const end = () => outcome.resolve(best);
    const off = onAbort(context.signal, end);
    const tokens = running.get(context.session) ?? new Map<string, () => void>();
    running.set(context.session, tokens);
    if (token !== undefined) {
      tokens.get(token)?.();
      tokens.set(token, end);
    }
    try {
      search.query(query);
      return await outcome.promise;
    } finally {
      off();
      if (token !== undefined && tokens.get(token) === end) tokens.delete(token);
      await search.close();
    }
  }

  return implement(searchMethods, {
    fuzzyFileSearch: async ({ query, roots, cancellationToken }, context) => {
      if (roots.length === 0 || query.trim() === '') return { files: [] };
      return { files: [...(await searchOnce(context, query, roots, cancellationToken ?? undefined))] };
    },

    fuzzyFileSearchSessionStart: async ({ sessionId, roots }, context) => {
      const { session } = context;
      if (sessionId === '') throw new AppError('invalid', 'sessionId must not be empty');
      if (roots.length === 0) {
        const text = 'failed to start fuzzy file search session: at least one search directory is required';
        throw new AppError('invalid', text);
      }
      await session.release(keyOf(sessionId))?.close();
      if (session.countOwned('search:') >= MAX_SESSIONS) {
        throw new AppError('overloaded', `this connection has ${MAX_SESSIONS} searches; stop one first`);
      }
      let isAsked = false;
      const started = deferred();
      const search = await begin(context, roots, {
        found(query, files, isComplete) {
          isAsked ||= query !== '';
          // What is not complete is news only to those who keep up.
          if (!isComplete && session.peer.outbox.isFull()) return;
          if (isAsked) session.notify(fuzzyFileSearchSessionUpdated, { sessionId, query, files: [...files] });
          if (isComplete) session.notify(fuzzyFileSearchSessionCompleted, { sessionId });
        },
        async failed() {
          await started.promise;
          session.release(keyOf(sessionId));
          session.notify(fuzzyFileSearchSessionCompleted, { sessionId });
        },
      });
      session.own(keyOf(sessionId), search);
      context.afterReply(() => {
        started.resolve();
        // Tells when all files are known, though nothing was asked yet.
        search.query('');
      });
      return {};
    },

    fuzzyFileSearchSessionUpdate: async ({ sessionId, query }, context) => {
      const search = context.session.owned(keyOf(sessionId)) as FileSearch | undefined;
      if (!search) throw new AppError('notFound', `fuzzy file search session not found: ${sessionId}`, { sessionId });
      context.afterReply(() => search.query(query));
      return {};
    },

    fuzzyFileSearchSessionStop: async ({ sessionId }, { session }) => {
      await session.release(keyOf(sessionId))?.close();
      return {};
    },
  });
}
