// Which environments there are: this machine, and no other.

import { AppError } from '../base/errors.ts';

const LOCAL = 'local';

export const isLocalEnvironment = (id: string): boolean => id === LOCAL;

export const unknownEnvironment = (id: string): string => `unknown environment id \`${id}\``;

/** Throws as *notFound* for an environment that is not this machine; none named means this one. */
export function checkEnvironment(id: string | null | undefined): void {
  if (id === null || id === undefined || isLocalEnvironment(id)) return;
  throw new AppError('notFound', unknownEnvironment(id), { environmentId: id });
}
