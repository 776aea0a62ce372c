// Lists the permission profiles, and which of them the one who asks may choose.

import { resolve } from 'node:path';
import type { Principal } from '../auth/principal.ts';
import { isAppError } from '../base/errors.ts';
import { pageOf } from '../base/page.ts';
import { allowsNetwork } from '../config/ceiling.ts';
import type { ConfigSource } from '../config/load.ts';
import { BUILT_IN_PROFILES, isWithin, modeOfPolicy, profileOf } from '../config/profiles.ts';
import { checkRequiredSandbox } from '../config/required.ts';
import type { Config } from '../config/schema.ts';
import { isTable } from '../config/tables.ts';
import { hasNetwork } from '../model/policy.ts';
import { implement, type Route } from '../rpc/router.ts';
import { permissionProfileMethods } from './methods.ts';

const DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  [':read-only', 'Read files; ask before anything else.'],
  [':workspace', 'Read files, and change those in the workspace; no network.'],
  [':danger-full-access', 'No restrictions at all.'],
]);

export interface ProfileParts {
  readonly config: ConfigSource;
  /** What a relative folder is relative to, unless the client said. */
  readonly cwd: string;
  /** Whether somebody learns of the settings of a project there. */
  readonly mayLookInto: (principal: Principal, folder: string) => Promise<boolean>;
}

/** Rejects when the configuration of the folder cannot be used. */
export function permissionProfileHandlers({ config, cwd, mayLookInto }: ProfileParts): Route[] {
  return implement(permissionProfileMethods, {
    permissionProfileList: async (params, { session }) => {
      const { principal, client } = session;
      const folder = params.cwd ? resolve(client.cwd ?? cwd, params.cwd) : undefined;
      const isOpen = folder !== undefined && (await mayLookInto(principal, folder));
      const loaded = await config.viewOf(client.settings).load(isOpen ? folder : undefined);
      const known = BUILT_IN_PROFILES.map(([id]) => id);
      const configured = Object.keys(loaded.permissions).filter((id) => !known.includes(id));
      const profiles = [...known, ...configured.sort()].map((id) => {
        const { description = null, reason } = judged(id, loaded, config, principal.isLocal);
        return { id, description: DESCRIPTIONS.get(id) ?? description, allowed: reason === null, reason };
      });
      return pageOf(profiles, params, { scope: ['permissionProfile/list'], keyOf: ({ id }) => id });
    },
  });
}

/** Whether the profile can be enforced, and whether the one who asks may have it. */
function judged(
  id: string,
  loaded: Config,
  { requirements }: ProfileParts['config'],
  isLocal: boolean,
): { readonly description?: string | null; readonly reason: string | null } {
  try {
    const { sandboxPolicy, description } = profileOf(loaded, id);
    const ceiling = isLocal ? 'danger-full-access' : loaded.remote.sandbox;
    const isWide = hasNetwork(sandboxPolicy) && !allowsNetwork(loaded);
    const isBeyond = !isWithin(modeOfPolicy(sandboxPolicy), ceiling) || (isWide && !isLocal);
    checkRequiredSandbox(sandboxPolicy, requirements);
    const most = isWide && isWithin(modeOfPolicy(sandboxPolicy), ceiling) ? 'no network' : `at most ${ceiling}`;
    return { description, reason: isBeyond ? `remote clients may have ${most} here` : null };
  } catch (error) {
    if (!isAppError(error)) throw error;
    const table = loaded.permissions[id];
    const description = isTable(table) && typeof table.description === 'string' ? table.description : null;
    return { description, reason: isLocal ? error.message : 'it cannot be used here' };
  }
}
