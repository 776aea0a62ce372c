// Tells about the server's own environment; any other name is unknown, never taken for this machine.

import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { shellCommand } from '../children/shell-command.ts';
import { implement, type Route } from '../rpc/router.ts';
import { environmentMethods } from './environment-methods.ts';
import { checkEnvironment, isLocalEnvironment, unknownEnvironment } from './environments.ts';
import type { Reaches } from './reach.ts';

export interface EnvironmentParts {
  readonly cwd: string;
  /** The value of SHELL. */
  readonly shell: string | undefined;
  readonly reaches: Reaches;
}

export function environmentHandlers({ cwd, shell, reaches }: EnvironmentParts): Route[] {
  return implement(environmentMethods, {
    environmentInfo: async ({ environmentId }, { session }) => {
      checkEnvironment(environmentId);
      const [path] = shellCommand('', shell);
      const reach = await reaches.of(session.principal);
      return {
        shell: { name: basename(path), path },
        cwd: (await reach.holds(cwd)) ? pathToFileURL(cwd).href : null,
      };
    },
    environmentStatus: async ({ environmentId }) =>
      isLocalEnvironment(environmentId)
        ? { status: 'ready' }
        : { status: 'unknown', error: unknownEnvironment(environmentId) },
  });
}
