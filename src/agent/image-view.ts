// Shows the model an image of the file system: what it may see, and the item that tells people of it.

import { resolve } from 'node:path';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import { isAppError } from '../base/errors.ts';
import { Mailbox } from '../base/mailbox.ts';
import { throwIfAborted } from '../base/signals.ts';
import { readImage } from '../fs/image-file.ts';
import type { ItemId } from '../model/ids.ts';
import type { ItemOf } from '../model/item.ts';
import type { ImageResult } from './backend.ts';
import { reachOf } from './patch/reach.ts';
import { permissionsOf } from './permissions.ts';

/** Characters of the images that the calls of one turn show; what is shown stays in the model's view, and in memory with it. */
const MAX_SHOWN = 64 * 1024 * 1024;

interface ImageParts {
  readonly clock: Clock;
  readonly hidden: readonly string[];
}

/** For the calls of one turn: one image after the other, and no more than it may hold. */
export function imageViewer(port: TurnPort, parts: ImageParts, signal: AbortSignal) {
  const lane = new Mailbox();
  let left = MAX_SHOWN;
  return (wanted: ItemId, path: string): Promise<ImageResult> =>
    lane.run(async () => {
      throwIfAborted(signal);
      if (left <= 0) return { kind: 'problem', problem: 'this turn has shown as many images as it may' };
      const result = await viewImage(port, parts, wanted, path, signal);
      if (result.kind === 'image') left -= result.url.length;
      return result;
    });
}

async function viewImage(
  port: TurnPort,
  { clock, hidden }: ImageParts,
  wanted: ItemId,
  given: string,
  signal: AbortSignal,
): Promise<ImageResult> {
  const settings = port.settings();
  const path = resolve(settings.cwd, given);
  const reach = await reachOf(settings, hidden, port.isCapped(), permissionsOf(port));
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
