// Reading and changing files and folders.

import { AppError } from '../base/errors.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import { copy } from './copy.ts';
import { createDirectory } from './create-directory.ts';
import { metadataOf, readDirectory } from './metadata.ts';
import { fsMethods } from './methods.ts';
import type { Protection } from './protection.ts';
import { QuickReads } from './quick-reads.ts';
import type { Reach, Reaches } from './reach.ts';
import { readFile } from './read-file.ts';
import { ReadGates } from './read-gate.ts';
import { remove } from './remove.ts';
import type { Commits } from './replacement.ts';
import { writeFile } from './write-file.ts';

export interface FsParts {
  readonly reaches: Reaches;
  readonly protection: (tenant: string) => Protection;
  readonly commits: Commits;
}

export function fsHandlers({ reaches, protection, commits }: FsParts): Route[] {
  const gates = new ReadGates();
  const quick = new QuickReads();
  const reachOf = ({ session }: Context): Promise<Reach> => reaches.of(session.principal);

  const protectionOf = ({ session }: Context): Protection => protection(session.principal.tenant);

  return implement(fsMethods, {
    fsReadFile: async (params, context) =>
      readFile(params.path, params, { reach: await reachOf(context), admit: gates.admission(context), quick }),

    fsWriteFile: async (params, context) =>
      writeFile(params, {
        ...{ session: context.session, reach: await reachOf(context) },
        ...{ commits, protection: protectionOf(context) },
      }),

    fsCreateDirectory: async ({ path, recursive }, context) => {
      const parts = { reach: await reachOf(context), protection: protectionOf(context) };
      await createDirectory(path, recursive ?? true, parts);
      return {};
    },

    fsGetMetadata: async ({ path }, context) => metadataOf(path, await reachOf(context), quick),

    fsReadDirectory: async ({ path, ...page }, context) => readDirectory(path, page, await reachOf(context)),

    fsRemove: async ({ path, recursive, force }, context) => {
      const wishes = {
        isRecursive: recursive ?? true,
        isForced: force ?? true,
        protection: protectionOf(context),
      };
      await remove(path, wishes, await reachOf(context), context.signal);
      return {};
    },

    fsCopy: async ({ sourcePath, destinationPath, recursive, copyId }, context) => {
      const wishes = { source: sourcePath, destination: destinationPath, isRecursive: recursive ?? false };
      const reach = await reachOf(context);
      const skipped = await cancellable(context, copyId ?? undefined, (signal) =>
        copy(wishes, { reach, commits, protection: protectionOf(context), signal }),
      );
      return skipped.length > 0 ? { skippedPaths: [...skipped] } : {};
    },

    fsCancelCopy: async ({ copyId }, { session }) => {
      const copying = session.owned(copyKey(copyId));
      await copying?.close();
      return { cancelled: copying !== undefined };
    },
  });
}

const copyKey = (copyId: string): string => `copy:${copyId}`;

/** Runs work that ends with the connection, and by its name if it has one. */
async function cancellable<T>(
  { session, signal }: Context,
  copyId: string | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (copyId === undefined) return work(signal);
  const abort = new AbortController();
  const key = copyKey(copyId);
  const close = async () => abort.abort(new AppError('cancelled', `the copy ${copyId} was cancelled`));
  session.own(key, { close });
  try {
    return await work(abort.signal);
  } finally {
    session.release(key);
  }
}
