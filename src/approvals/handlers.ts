// Lists the permission profiles, and which of them the one who asks may choose.

import { pageOf } from '../base/page.ts';
import { isWithin, modeOfProfile, PROFILE_IDS } from '../config/profiles.ts';
import type { Config } from '../config/schema.ts';
import { implement, type Route } from '../rpc/router.ts';
import { permissionProfileMethods } from './methods.ts';

const DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  [':read-only', 'Read files; ask before anything else.'],
  [':workspace', 'Read files, and change those in the workspace; no network.'],
  [':danger-full-access', 'No restrictions at all.'],
]);

/** `config` rejects when the configuration cannot be used. */
export function permissionProfileHandlers({ config }: { readonly config: () => Promise<Config> }): Route[] {
  return implement(permissionProfileMethods, {
    permissionProfileList: async (params, { session }) => {
      const { isLocal } = session.principal;
      const ceiling = isLocal ? 'danger-full-access' : (await config()).remote.sandbox;
      const profiles = PROFILE_IDS.map((id) => ({
        id,
        description: DESCRIPTIONS.get(id) ?? null,
        allowed: isWithin(modeOfProfile(id), ceiling),
      }));
      return pageOf(profiles, params);
    },
  });
}
