// Whether a server could open the history that is there: another process looks, because a damaged file can end whoever reads it.

import { existsSync } from 'node:fs';
import { isOwned } from '../history/owner.ts';
import { recordsFile } from '../history/places.ts';
import { isOfOlderFormat, unreadable } from '../history/read-only.ts';
import { shutOf, textOfShut } from '../history/shut.ts';
import { EXIT } from './exit-codes.ts';
import { bad, doubtful, type Finding } from './finding.ts';
import { runOwn } from './own-process.ts';

const SHUT = 'a server lists, reads and searches what is there, and keeps nothing';

/** Nothing is said of one that can be opened and written, or that a server has open. */
export async function historyFindings(directory: string): Promise<readonly Finding[]> {
  const shut = shutOf(directory);
  if (!existsSync(recordsFile(directory)) || (await isOwned(directory).catch(() => true))) return [];
  const { code, signal, stderr } = await runOwn(['history', 'probe', '--data-dir', directory], false);
  const isSound = code === EXIT.done && signal === null;
  if (isSound && shut !== undefined) return [doubtful('history', textOfShut(shut), SHUT)];
  // A server brings what an older version wrote up to date.
  if (isSound || (shut === undefined && isOfOlderFormat(stderr))) return [];
  const said = stderr.replace(/^heddle: /, '').trim();
  const why = signal === null && said !== '' ? said : unreadable(directory, stderr).message;
  return [bad('history', why, 'until then no server starts on this data directory')];
}
