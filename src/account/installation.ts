// The name of this installation: made once, kept in the data directory.

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../base/errors.ts';
import { newId } from '../model/ids.ts';

/** The id kept in `installation_id`, made there at first use; a file that holds no id is replaced. */
export async function installationId(dataDirectory: string): Promise<string> {
  const file = join(dataDirectory, 'installation_id');
  const known = await readId(file);
  if (known !== undefined) return known;
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const made = newId();
  try {
    await writeFile(file, `${made}\n`, { mode: 0o600, flag: 'wx' });
    return made;
  } catch (error) {
    // Somebody else was first: one id for all.
    if (codeOf(error) !== 'EEXIST') throw error;
    return (await readId(file)) ?? made;
  }
}

async function readId(file: string): Promise<string | undefined> {
  try {
    const text = (await readFile(file, 'utf8')).trim();
    if (/^[0-9a-f-]{36}$/i.test(text)) return text;
    if (text !== '') await rm(file, { force: true });
    return undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
