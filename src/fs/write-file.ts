// Writing files, whole or in pieces that are kept aside until the last one has come.

import { join } from 'node:path';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { Params, ResultInput } from '../rpc/declare.ts';
import type { Session } from '../rpc/session.ts';
import { fsFault } from './fault.ts';
import type { fsWriteFile } from './methods.ts';
import type { Protection } from './protection.ts';
import type { Place, Reach } from './reach.ts';
import { decoded } from './read-file.ts';
import { type Commits, Replacement } from './replacement.ts';

type WriteParams = Params<typeof fsWriteFile>;
type Written = ResultInput<typeof fsWriteFile>;

const METHOD = 'fs/writeFile';
const MAX_UPLOADS = 64;

/** A file that a connection sends in pieces; forgotten with the connection. */
interface Upload extends Closable {
  readonly place: Place;
  readonly replacement: Replacement;
}

export interface WriteParts {
  readonly session: Session;
  readonly reach: Reach;
  readonly commits: Commits;
  readonly protection: Protection;
}

export async function writeFile(params: WriteParams, parts: WriteParts): Promise<Written> {
  const data = decoded(params.dataBase64, METHOD);
  try {
    if (params.offset === undefined || params.offset === null) return await writeWhole(params, data, parts);
    return await writePiece(params, params.offset, data, parts);
  } catch (error) {
    throw fsFault(error, params.path);
  }
}

async function writeWhole(params: WriteParams, data: Buffer, parts: WriteParts): Promise<Written> {
  const upload = await begin(params.path, parts);
  try {
    await upload.replacement.write(data);
    return { version: await upload.replacement.commit({ expectedVersion: params.expectedVersion ?? undefined }) };
  } finally {
    await upload.close();
  }
}

async function writePiece(params: WriteParams, offset: number, data: Buffer, parts: WriteParts): Promise<Written> {
  const { session } = parts;
  const key = `upload:${params.path}`;
  if (offset === 0) {
    await session.release(key)?.close();
    checkRoom(session);
    session.own(key, await begin(params.path, parts));
  }
  const upload = session.owned(key) as Upload | undefined;
  const expectedOffset = upload?.replacement.received ?? 0;
  if (!upload || offset !== expectedOffset) {
    const text = `the next piece of ${params.path} begins at ${expectedOffset}, not at ${offset}`;
    throw new AppError('conflict', text, { kind: 'wrong_offset', path: params.path, expectedOffset });
  }
  try {
    await upload.replacement.write(data);
    if (!params.isLast) return { received: upload.replacement.received };
    const version = await upload.replacement.commit({ expectedVersion: params.expectedVersion ?? undefined });
    await session.release(key)?.close();
    return { version, received: upload.replacement.received };
  } catch (error) {
    await session.release(key)?.close();
    throw error;
  }
}

async function begin(path: string, { reach, commits, protection }: WriteParts): Promise<Upload> {
  const place = await reach.place(path, 'target');
  try {
    protection.checkWritable(join(place.folder.path, place.name), path);
    const replacement = await Replacement.begin(place, commits);
    const close = closeOnce(async () => {
      await replacement.close();
      await place.close();
    });
    return { place, replacement, close };
  } catch (error) {
    await place.close();
    throw error;
  }
}

function checkRoom(session: Session): void {
  if (session.countOwned('upload:') < MAX_UPLOADS) return;
  throw new AppError('overloaded', `this connection sends ${MAX_UPLOADS} files in pieces already; finish one first`);
}
