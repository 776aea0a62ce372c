// What a thread may do beyond its sandbox policy, because people granted it.

import { relative } from 'node:path';
import { NO_PERMISSIONS } from '../approvals/grants.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Permissions } from '../model/approval.ts';
import { isWithin, PROTECTED_NAMES } from '../sandbox/policy.ts';

/** What holds for the turn now; nothing of what others were granted widens one under the ceiling. */
export function permissionsOf(port: Pick<TurnPort, 'grants' | 'isCapped'>): Permissions {
  return port.isCapped() ? NO_PERMISSIONS : port.grants.permissions();
}

/** The real path lies in one of them, and not where it makes others run programs: that is asked about each time. */
export function isInGrantedFolder(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => {
    if (!isWithin(path, folder)) return false;
    const names = relative(folder, path).toLowerCase().split('/');
    return !names.some((name) => PROTECTED_NAMES.includes(name));
  });
}
