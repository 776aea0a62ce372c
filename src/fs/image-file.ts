// An image of the file system, for a model to see.

import { AppError } from '../base/errors.ts';
import { imageUrlOf, MAX_IMAGE_BYTES } from '../model/image.ts';
import { realPathOf } from './containment.ts';
import { about, systemFault } from './fault.ts';
import { readWholeFile } from './text-file.ts';

/**
 * A data URL. Rejects as *notFound*, as *invalid* for what is no image or too large, and as *forbidden* when `mayRead` says no to the
 * real path, or the path leads elsewhere meanwhile.
 */
export async function readImage(path: string, mayRead: (real: string) => boolean | Promise<boolean>): Promise<string> {
  const real = await about(path, () => realPathOf(path));
  if (!(await mayRead(real))) throw new AppError('forbidden', `${path} is out of reach`, { path });
  const file = await readWholeFile(real, MAX_IMAGE_BYTES);
  if (!file) throw systemFault('ENOENT', path);
  const image = imageUrlOf(file.content);
  if ('problem' in image) throw new AppError('invalid', `${path}: ${image.problem}`, { kind: 'no_image', path });
  return image.url;
}
