// Looks for the programs of the system that a test needs; one that is missing is said loudly, and its tests are skipped.

import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];

/** The absolute path of a program. */
export function whereIs(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** Whether all of them are there; warns of those that are not. */
export function areInstalled(...names: readonly string[]): boolean {
  const missing = names.filter((name) => whereIs(name) === undefined);
  if (missing.length > 0) console.warn(`SKIPPED, not installed here: ${missing.join(', ')} (apt-get install them)`);
  return missing.length === 0;
}
