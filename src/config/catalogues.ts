// Catalogues of what this server does not have: hooks, plugins, apps, experimental features, collaboration modes.

import { resolve } from 'node:path';
import { z } from 'zod';
import { type PageRequest, pageOf } from '../base/page.ts';
import { request, unqueued } from '../rpc/declare.ts';
import { implement, type Route } from '../rpc/router.ts';

const none = () => z.array(z.never());
const pageParams = () => z.object({ cursor: z.string().nullish(), limit: z.int().min(0).nullish() });
const emptyPage = () => z.object({ data: none(), nextCursor: z.null() });
const read = { queue: unqueued, needs: 'none', mutates: false } as const;

export const hooksList = request('hooks/list', {
  params: () => z.object({ cwds: z.array(z.string()).nullish(), threadId: z.string().nullish() }),
  result: () =>
    z.object({ data: z.array(z.object({ cwd: z.string(), hooks: none(), warnings: none(), errors: none() })) }),
  ...read,
});

export const pluginList = request('plugin/list', {
  params: () => z.object({}),
  result: () => z.object({ marketplaces: none(), marketplaceLoadErrors: none(), featuredPluginIds: none() }),
  ...read,
});

export const pluginInstalled = request('plugin/installed', {
  params: () => z.object({}),
  result: () => z.object({ marketplaces: none(), marketplaceLoadErrors: none() }),
  ...read,
});

export const appList = request('app/list', { params: pageParams, result: emptyPage, ...read });

export const experimentalFeatureList = request('experimentalFeature/list', {
  params: pageParams,
  result: emptyPage,
  ...read,
});

export const collaborationModeList = request('collaborationMode/list', {
  params: () => z.object({}),
  result: () => z.object({ data: none() }),
  experimental: true,
  ...read,
});

export const catalogueMethods = {
  hooksList,
  pluginList,
  pluginInstalled,
  appList,
  experimentalFeatureList,
  collaborationModeList,
};

/** `cwd`: the working directory of the server, which is meant where a client names none. */
export function catalogueHandlers({ cwd }: { readonly cwd: string }): Route[] {
  const nothing = async (page: PageRequest) => ({ data: pageOf<never>([], page).data, nextCursor: null });
  return implement(catalogueMethods, {
    hooksList: async ({ cwds }) => ({
      data: foldersOf(cwds, cwd).map((folder) => ({ cwd: folder, hooks: [], warnings: [], errors: [] })),
    }),
    pluginList: async () => ({ marketplaces: [], marketplaceLoadErrors: [], featuredPluginIds: [] }),
    pluginInstalled: async () => ({ marketplaces: [], marketplaceLoadErrors: [] }),
    appList: nothing,
    experimentalFeatureList: nothing,
    collaborationModeList: async () => ({ data: [] }),
  });
}

/** The folders that a list is asked for, absolute; the server's own when none is named. */
export function foldersOf(cwds: readonly string[] | null | undefined, cwd: string): readonly string[] {
  return cwds && cwds.length > 0 ? cwds.map((each) => resolve(cwd, each)) : [cwd];
}
