// Histories of older formats: written anew in the current one, then put in the place of the old in one step.

import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { ThreadMeta } from '../model/thread.ts';
import { readBlob, syncDirectory } from './blobs.ts';
import { moveListed } from './catalogue.ts';
import { wholeMeta } from './catalogue-row.ts';
import { FORMAT_VERSION, formatKey, keysOf, TABLES_VERSION, tablesKey } from './keys.ts';
import { LmdbRows } from './lmdb-rows.ts';
import { blobsDirectory, RECORDS_FILE, recordsDirectory, recordsFile, renewalDirectory } from './places.ts';
import { decode, fill } from './records.ts';
import type { Row } from './rows.ts';

/** Nothing happens to a history of another format. Cut off at any moment, it is as it was and can be migrated again. */
export async function migrate(directory: string): Promise<void> {
  // Looked for first: to remove it, Node loads code that a start seldom needs.
  if (existsSync(renewalDirectory(directory))) rmSync(renewalDirectory(directory), { recursive: true, force: true });
  if (!existsSync(recordsFile(directory))) return;
  const old = new LmdbRows(recordsDirectory(directory), { readOnly: true });
  try {
    if (old.raw(formatKey) !== '1') return;
    mkdirSync(renewalDirectory(directory), { mode: 0o700 });
    const renewed = new LmdbRows(renewalDirectory(directory));
    try {
      for (const step of old.rawSteps()) await write(renewed, step, directory);
      await renewed.write(() => {
        renewed.put(formatKey, String(FORMAT_VERSION));
        renewed.put(tablesKey, TABLES_VERSION);
      });
    } finally {
      await renewed.close();
    }
  } finally {
    await old.close();
  }
  await takePlace(directory);
}

/** Format 1 had no checksums, and neither an index for each filter of the list nor one for its search. */
async function write(renewed: LmdbRows, step: readonly Row[], directory: string): Promise<void> {
  const metas = new Map<string, ThreadMeta>();
  for (const { key, text } of step) if (isMeta(key)) metas.set(text, await readMeta(text, directory));
  await renewed.write(() => {
    for (const { key, text } of step) {
      renewed.put(key, text);
      const meta = isMeta(key) ? metas.get(text) : undefined;
      if (meta !== undefined) moveListed(renewed, keysOf(key[0] as string), undefined, meta);
    }
  });
}

const isMeta = (key: Row['key']): boolean => key[1] === 't' && key[3] === 'm' && key.length === 4;

async function readMeta(text: string, directory: string): Promise<ThreadMeta> {
  const { value, refs } = decode<ThreadMeta>(text);
  for (const { hash, path } of refs) fill(value, path, (await readBlob(blobsDirectory(directory), hash)) ?? '');
  return wholeMeta(value);
}

/** Puts the new database in the place of the old one; durable when it resolves. */
export async function takePlace(directory: string): Promise<void> {
  await rename(join(renewalDirectory(directory), RECORDS_FILE), recordsFile(directory));
  await syncDirectory(recordsDirectory(directory));
  rmSync(renewalDirectory(directory), { recursive: true, force: true });
}
