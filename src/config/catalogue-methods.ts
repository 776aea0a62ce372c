// Catalogues that clients ask for at their start: hooks, plugins, apps, experimental features, collaboration modes, and Windows.

import { z } from 'zod';
import { CollaborationModeMask } from '../model/collaboration.ts';
import { request, unqueued } from '../rpc/declare.ts';

const none = () => z.array(z.never());
const pageParams = () => z.object({ cursor: z.string().nullish(), limit: z.int().min(0).nullish() });
const emptyPage = () => z.object({ data: none(), nextCursor: z.null() });
const read = { queue: unqueued, needs: 'none', mutates: false } as const;

export const hooksList = request('hooks/list', {
  params: () => z.object({ cwds: z.array(z.string()).max(256).nullish(), threadId: z.string().nullish() }),
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
  params: () => pageParams().extend({ threadId: z.string().nullish() }),
  result: emptyPage,
  ...read,
});

/** Names that are no feature are not among those that were set. */
export const experimentalFeatureEnablementSet = request('experimentalFeature/enablement/set', {
  params: () => z.object({ enablement: z.record(z.string(), z.boolean()) }),
  result: () => z.object({ enablement: z.record(z.string(), z.boolean()) }),
  queue: unqueued,
  needs: 'config',
  mutates: false,
});

/** There is no sandbox of this server for Windows, so that none is ever ready. */
export const windowsSandboxReadiness = request('windowsSandbox/readiness', {
  params: () => z.object({}),
  result: () => z.object({ status: z.literal('notConfigured') }),
  ...read,
});

export const collaborationModeList = request('collaborationMode/list', {
  params: () => z.object({}),
  result: () => z.object({ data: z.array(CollaborationModeMask()) }),
  experimental: true,
  ...read,
});

export const catalogueMethods = {
  hooksList,
  pluginList,
  pluginInstalled,
  appList,
  experimentalFeatureList,
  experimentalFeatureEnablementSet,
  windowsSandboxReadiness,
  collaborationModeList,
};
