// Secrets in files: read once at start, refused when other users of the machine can read them, made when none was given.

import { randomBytes } from 'node:crypto';
import { chmod, type FileHandle, link, open, realpath, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { makeFolders } from '../base/folders.ts';

/** Largest secret file that makes sense, in bytes. */
const MAX_SECRET_BYTES = 64 * 1024;
const READ_OR_WRITTEN_BY_OTHERS = 0o026;
const ENTERED_BY_OTHERS = 0o001;

/** The trimmed text of a secret file. Rejects as *unavailable* when it cannot be read, is empty, or is open to others. */
export async function readSecretFile(path: string): Promise<string> {
  const text = (await readGuarded(path)).trim();
  if (text === '') throw new AppError('unavailable', `websocket auth secret ${path} must not be empty`);
  return text;
}

async function readGuarded(path: string): Promise<string> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r');
    const facts = await file.stat();
    if (!facts.isFile() || facts.size > MAX_SECRET_BYTES) throw new Error('it is not a small regular file');
    if ((facts.mode & READ_OR_WRITTEN_BY_OTHERS) !== 0 && (await isReachableByOthers(path)))
      throw new AppError(
        'unavailable',
        `websocket auth secret ${path} can be read or changed by other users; run: chmod 600 ${path}`,
      );
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof AppError) throw error;
    const advice = codeOf(error) === 'ENOENT' ? `; make one: heddle token new --file ${path}` : '';
    throw new AppError('unavailable', `failed to read websocket auth secret ${path}: ${messageOf(error)}${advice}`);
  } finally {
    await file?.close();
  }
}

/** A file whose mode is open is still safe below a folder that others cannot enter. */
async function isReachableByOthers(path: string): Promise<boolean> {
  let folder = dirname(await realpath(path));
  for (;;) {
    if (((await stat(folder)).mode & ENTERED_BY_OTHERS) === 0) return false;
    const parent = dirname(folder);
    if (parent === folder) return true;
    folder = parent;
  }
}

/**
 * The token kept in the data directory, made there (mode 0600) at first use and used again afterwards. The file appears
 * whole or not at all; of two processes that make it at once, both get the one that was first.
 */
export async function ownToken(dataDirectory: string): Promise<{ readonly token: string; readonly file: string }> {
  const file = join(dataDirectory, 'ws-token');
  makeFolders(dataDirectory);
  const draft = join(dataDirectory, `.ws-token-${randomBytes(6).toString('hex')}`);
  try {
    await stat(file);
  } catch {
    await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
    try {
      await chmod(draft, 0o600);
      await link(draft, file);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    } finally {
      await unlink(draft);
    }
  }
  return { token: await readSecretFile(file), file };
}
