// Lists skills: one entry a folder; none are loaded.

import { foldersOf } from '../config/catalogues.ts';
import { implement, type Route } from '../rpc/router.ts';
import { skillsMethods } from './methods.ts';

/** `cwd`: the working directory of the server, which is meant where a client names none and has none of its own. */
export function skillsHandlers({ cwd }: { readonly cwd: string }): Route[] {
  return implement(skillsMethods, {
    skillsList: async ({ cwds }, { session }) => ({
      data: foldersOf(cwds, session.client.cwd ?? cwd).map((folder) => ({ cwd: folder, skills: [], errors: [] })),
    }),
  });
}
