// Tells about the server's own environment; any other name is unknown, never taken for this machine.

import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AppError } from '../base/errors.ts';
import { shellCommand } from '../children/shell-command.ts';
import { implement, type Route } from '../rpc/router.ts';
import { environmentMethods } from './environment-methods.ts';
import type { Reaches } from './reach.ts';

const LOCAL = 'local';

export interface EnvironmentParts {
  readonly cwd: string;
  /** The value of SHELL. */
  readonly shell: string | undefined;
  readonly reaches: Reaches;
}

export function environmentHandlers({ cwd, shell, reaches }: EnvironmentParts): Route[] {
  const unknown = (id: string): string => `unknown environment id \`${id}\``;
  return implement(environmentMethods, {
    environmentInfo: async ({ environmentId }, { session }) => {
      if (environmentId !== LOCAL) throw new AppError('notFound', unknown(environmentId), { environmentId });
      const [path] = shellCommand('', shell);
      const reach = await reaches.of(session.principal);
      return {
        shell: { name: basename(path), path },
        cwd: (await reach.holds(cwd)) ? pathToFileURL(cwd).href : null,
      };
    },
    environmentStatus: async ({ environmentId }) =>
      environmentId === LOCAL ? { status: 'ready' } : { status: 'unknown', error: unknown(environmentId) },
  });
}
