// Whether a server could open the history that is there: another process looks, because a damaged file can end whoever reads it.

import { existsSync } from 'node:fs';
import { isOwned } from '../history/owner.ts';
import { recordsFile } from '../history/places.ts';
import { isOfOlderFormat, unreadable } from '../history/read-only.ts';
import { EXIT } from './exit-codes.ts';
import { bad, type Finding } from './finding.ts';
import { runOwn } from './own-process.ts';

/** Nothing is said of one that can be opened, or that a server has open. */
export async function historyFindings(directory: string): Promise<readonly Finding[]> {
  if (!existsSync(recordsFile(directory)) || (await isOwned(directory).catch(() => true))) return [];
  const { code, signal, stderr } = await runOwn(['history', 'probe', '--data-dir', directory], false);
  // A server brings what an older version wrote up to date.
  if ((code === EXIT.done && signal === null) || isOfOlderFormat(stderr)) return [];
  const said = stderr.replace(/^heddle: /, '').trim();
  const why = signal === null && said !== '' ? said : unreadable(directory, stderr).message;
  return [bad('history', why, 'until then no server starts on this data directory')];
}
