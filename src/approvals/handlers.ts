// Lists the permission profiles, and which of them the one who asks may choose.

import { resolve } from 'node:path';
import { pageOf } from '../base/page.ts';
import type { ConfigSource } from '../config/load.ts';
import { isWithin, modeOfProfile, PROFILE_IDS } from '../config/profiles.ts';
import { barredMode } from '../config/required.ts';
import { implement, type Route } from '../rpc/router.ts';
import { permissionProfileMethods } from './methods.ts';

const DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  [':read-only', 'Read files; ask before anything else.'],
  [':workspace', 'Read files, and change those in the workspace; no network.'],
  [':danger-full-access', 'No restrictions at all.'],
]);

export interface ProfileParts {
  readonly config: Pick<ConfigSource, 'load' | 'requirements'>;
  /** What a relative folder is relative to, unless the client said. */
  readonly cwd: string;
}

/** Rejects when the configuration of the folder cannot be used. */
export function permissionProfileHandlers({ config, cwd }: ProfileParts): Route[] {
  return implement(permissionProfileMethods, {
    permissionProfileList: async (params, { session }) => {
      const { remote } = await config.load(params.cwd ? resolve(session.client.cwd ?? cwd, params.cwd) : undefined);
      const ceiling = session.principal.isLocal ? 'danger-full-access' : remote.sandbox;
      const profiles = PROFILE_IDS.map((id) => {
        const mode = modeOfProfile(id);
        const beyond = isWithin(mode, ceiling) ? null : `remote clients may have at most ${ceiling} here`;
        const reason = barredMode(mode, config.requirements) ?? beyond;
        return { id, description: DESCRIPTIONS.get(id) ?? null, allowed: reason === null, reason };
      });
      return pageOf(profiles, params);
    },
  });
}
