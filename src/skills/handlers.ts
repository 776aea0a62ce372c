// Lists skills: one entry a folder; none are loaded.

import { foldersOf } from '../config/catalogues.ts';
import { implement, type Route } from '../rpc/router.ts';
import { skillsMethods } from './methods.ts';

/** `cwd`: the working directory of the server, which is meant where a client names none. */
export function skillsHandlers({ cwd }: { readonly cwd: string }): Route[] {
  return implement(skillsMethods, {
    skillsList: async ({ cwds }) => ({
      data: foldersOf(cwds, cwd).map((folder) => ({ cwd: folder, skills: [], errors: [] })),
    }),
  });
}
