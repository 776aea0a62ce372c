// From an open door to the work behind it: the handshake, what is said where there is no way in, and leaving.

import { resolve } from 'node:path';
import { isAppError, messageOf } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import type { Door } from './exec-door.ts';
import type { ExecOutput } from './exec-output.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { greeted, type Introduction } from './greeting.ts';

export interface Visit<D extends Pick<Door, 'connection' | 'close'>> {
  readonly open: () => Promise<D>;
  readonly introduction: Introduction;
  /** Is told why there is no way in. */
  readonly tell: (why: string) => void;
}

/** Closes the door when the work is done. Rejects as the work does, and as *invalid* for flags that cannot lead anywhere. */
export async function visit<D extends Pick<Door, 'connection' | 'close'>>(
  { open, introduction, tell }: Visit<D>,
  work: (client: Client, door: D) => Promise<ExitCode>,
): Promise<ExitCode> {
  let door: D | undefined;
  let client: Client;
  try {
    door = await open();
    client = await greeted(door.connection, introduction);
  } catch (error) {
    // What does not answer may not close either.
    void door?.close();
    if (isAppError(error, 'invalid')) throw error;
    tell(messageOf(error));
    return EXIT.unreachable;
  }
  try {
    return await work(client, door);
  } finally {
    await client.close();
    await door.close();
  }
}

/** For commands that have nothing else to say it with. */
export const tellOnStandardError = (why: string): void => void process.stderr.write(`heddle: ${why}\n`);

/** Says what is to be known of the door; false: no turn would come to anything behind it, and why has been said too. */
export function mayTakeTurns({ notes, obstacles }: Pick<Door, 'notes' | 'obstacles'>, output: ExecOutput): boolean {
  for (const note of notes) output.note(note);
  for (const obstacle of obstacles) output.note(obstacle, 'red');
  return obstacles.length === 0;
}

/** Where a thread works. Another machine has other folders: there, only one that was named is meant. */
export function placeOf(folder: string | undefined, { isHere }: Pick<Door, 'isHere'>): { readonly cwd?: string } {
  if (isHere) return { cwd: resolve(folder ?? '.') };
  return folder === undefined ? {} : { cwd: folder };
}
