// A stored history of each format that was ever written is opened, brought up to date, and found whole.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { FORMAT_VERSION } from '../../../src/history/keys.ts';
import { openLmdbHistory } from '../../../src/history/lmdb.ts';
import { blobsDirectory, recordsDirectory } from '../../../src/history/places.ts';
import { verifyHistory } from '../../../src/history/verify.ts';
import { at, turnCompleted } from '../../harness/history-events.ts';

const HASH = /^[0-9a-f]{64}$/;

async function unpack(version: number, directory: string): Promise<void> {
  const stored = fileURLToPath(new URL(`../../fixtures/history-v${version}`, import.meta.url));
  await mkdir(recordsDirectory(directory), { recursive: true });
  for (const file of await readdir(stored)) {
    const name = file.replace(/\.gz$/, '');
    const folder = HASH.test(name) ? join(blobsDirectory(directory), name.slice(0, 2)) : recordsDirectory(directory);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, name), gunzipSync(await readFile(join(stored, file))));
  }
}

const VERSIONS = Array.from({ length: FORMAT_VERSION }, (_, index) => index + 1);

let directory: string;
afterEach(() => rm(directory, { recursive: true }));

describe.each(VERSIONS)('a history of format %i', (version) => {
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-format-'));
    await unpack(version, directory);
  });

  it('is opened with everything in it', async () => {
    const history = await openLmdbHistory({ directory, log: silentLog() });
    const store = history.forTenant('local');
    const list = async (query: object) =>
      (await store.threads({ archived: false, sortKey: 'createdAt', direction: 'asc', limit: 100, ...query })).rows.map(
        ({ id }) => id,
      );
    expect(await list({})).toEqual(['t0', 't1', 't2', 't3', 't4', 't5', 't6']);
    expect(await list({ archived: true })).toEqual(['t7']);
    expect(await list({ cwds: ['/one'] })).toEqual(['t1', 't3', 't5']);
    expect(await list({ modelProviders: ['q'] })).toEqual(['t0', 't3', 't6']);
    expect(await list({ archived: true, searchTerm: 'archived' })).toEqual(['t7']);
    expect(await store.meta('t7')).toMatchObject({ name: 'Archived one', turnCount: 3, queue: [], goal: null });
    expect((await store.turns('t6', { direction: 'asc', limit: 9 })).rows.map(({ id }) => id)).toEqual(['a']);
    expect((await store.item('t0', 'l'))?.item).toMatchObject({ text: 'long '.repeat(20_000) });
    expect(await store.context('t0')).toHaveLength(3);
    expect(await store.openTurns()).toHaveLength(7);
    expect(await store.ledger.find('turn/start', 'k3')).toEqual({ fingerprint: 'f', reply: '{"ok":true}' });
    const head = (await store.head('t0')) as number;
    await store.append('t0', head, at(9000, turnCompleted('open')));
    expect((await history.forTenant('acme').meta('other'))?.turnCount).toBe(1);
    await history.close();
    expect(await verifyHistory(directory)).toMatchObject({ threads: 9, damages: [] });
    expect(await readdir(recordsDirectory(directory))).not.toContain('renewal');
  });
});

test.each(VERSIONS.filter((version) => version < FORMAT_VERSION))(
  'a history of format %i is migrated anew when that was cut off',
  async (version) => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-format-'));
    await unpack(version, directory);
    await mkdir(join(recordsDirectory(directory), 'renewal'));
    await writeFile(join(recordsDirectory(directory), 'renewal', 'data.mdb'), 'half');
    await expect(verifyHistory(directory)).rejects.toMatchObject({ data: { kind: 'older_format' } });
    await (await openLmdbHistory({ directory, log: silentLog() })).close();
    expect(await verifyHistory(directory)).toMatchObject({ damages: [] });
  },
);
