// Answers the catalogues that need nothing but this program; those of what it does not have are empty.

import { resolve } from 'node:path';
import { type PageRequest, pageOf } from '../base/page.ts';
import { COLLABORATION_MODES } from '../model/collaboration.ts';
import { noSuchThread } from '../model/missing.ts';
import { implement, type Route } from '../rpc/router.ts';
import { catalogueMethods } from './catalogue-methods.ts';

export interface CatalogueParts {
  /** The working directory of the server, which is meant where a client names none and has none of its own. */
  readonly cwd: string;
  /** Threads of a tenant that are loaded. */
  readonly loadedThreads: (tenant: string) => readonly string[];
}

export function catalogueHandlers({ cwd, loadedThreads }: CatalogueParts): Route[] {
  const nothing = async (page: PageRequest) => ({
    data: pageOf<never>([], page, { scope: [], keyOf: () => '' }).data,
    nextCursor: null,
  });
  return implement(catalogueMethods, {
    hooksList: async ({ cwds }, { session }) => ({
      data: foldersOf(cwds, session.client.cwd ?? cwd).map((folder) => ({
        cwd: folder,
        hooks: [],
        warnings: [],
        errors: [],
      })),
    }),
    pluginList: async () => ({ marketplaces: [], marketplaceLoadErrors: [], featuredPluginIds: [] }),
    pluginInstalled: async () => ({ marketplaces: [], marketplaceLoadErrors: [] }),
    appList: nothing,
    experimentalFeatureList: async ({ threadId, ...page }, { session }) => {
      if (threadId && !loadedThreads(session.principal.tenant).includes(threadId)) throw noSuchThread(threadId);
      return nothing(page);
    },
    experimentalFeatureEnablementSet: async () => ({ enablement: {} }),
    windowsSandboxReadiness: async () => ({ status: 'notConfigured' }),
    collaborationModeList: async () => ({ data: [...COLLABORATION_MODES] }),
  });
}

/** The folders that a list is asked for, absolute; `cwd` when none is named. */
export function foldersOf(cwds: readonly string[] | null | undefined, cwd: string): readonly string[] {
  return cwds && cwds.length > 0 ? cwds.map((each) => resolve(cwd, each)) : [cwd];
}
