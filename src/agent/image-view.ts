// Shows the model an image of the file system: what it may see, and the item that tells people of it.

import { resolve } from 'node:path';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import { isAppError } from '../base/errors.ts';
import { throwIfAborted } from '../base/signals.ts';
import { readImage } from '../fs/image-file.ts';
import type { ItemId } from '../model/ids.ts';
import type { ItemOf } from '../model/item.ts';
import type { ImageResult } from './backend.ts';
import { reachOf } from './patch/reach.ts';

export async function viewImage(
  port: TurnPort,
  { clock, hidden }: { readonly clock: Clock; readonly hidden: readonly string[] },
  wanted: ItemId,
  given: string,
  signal: AbortSignal,
): Promise<ImageResult> {
  const settings = port.settings();
  const path = resolve(settings.cwd, given);
  const reach = await reachOf(settings, hidden, port.isCapped());
  let url: string;
  try {
    url = await readImage(path, (real) => reach.standing(real) !== 'hidden');
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { kind: 'problem', problem: `unable to show the image at \`${path}\`: ${error.message}` };
  }
  throwIfAborted(signal);
  const atMs = clock.now();
  const id = await port.uniqueItemId(wanted, 'call');
  const item: ItemOf<'imageView'> = { type: 'imageView', id, path, startedAtMs: atMs, completedAtMs: null };
  const { turnId } = port;
  await port.append([
    { type: 'itemStarted', turnId, item },
    { type: 'itemCompleted', turnId, item: { ...item, completedAtMs: clock.now() } },
  ]);
  return { kind: 'image', url };
}
