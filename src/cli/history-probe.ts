// Before a server opens a history that was not closed: another process looks at it, because a damaged file can end whoever reads it.

import { constants } from 'node:fs';
import { isOwned } from '../history/owner.ts';
import { noteClosing, suspicion } from '../history/probe.ts';
import { isOfOtherFormat, unreadable } from '../history/read-only.ts';
import { EXIT } from './exit-codes.ts';
import { runOwn } from './own-process.ts';

const FOR_WRITING = constants.R_OK | constants.W_OK;

/** Throws *unavailable*, with the path and what to do, when the file cannot be used. */
export async function probeHistory(directory: string): Promise<void> {
  const suspected = suspicion(directory, Date.now());
  // Whoever has the directory now has opened it and not yet closed it.
  if (suspected === 'none' || (await isOwned(directory))) return;
  const command = suspected === 'whole' ? ['verify', '--here'] : ['probe'];
  const { code, signal, stderr } = await runOwn(['history', ...command, '--data-dir', directory], false);
  const isSound =
    signal === null && (code === EXIT.done || (code === EXIT.failed && suspected === 'whole' && stderr === ''));
  if (!isSound && !isOfOtherFormat(stderr) && !/there is no history/.test(stderr))
    throw unreadable(directory, stderr, FOR_WRITING);
  if (suspected === 'whole') noteClosing(directory);
}
