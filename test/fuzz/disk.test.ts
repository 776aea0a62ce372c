// Power cuts and failing disks: whatever was not synced may be lost, torn or written in another order; any call may fail.

import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import { recordsDirectory, recordsFile } from '../../src/history/places.ts';
import { verifyHistory } from '../../src/history/verify.ts';
import { SEED } from '../harness/chance.ts';
import { at } from '../harness/history-events.ts';

const CUTS = Number(process.env.HEDDLE_CUTS ?? 150);
const FAILURES = Number(process.env.HEDDLE_FAILURES ?? 4);
const SECTOR = 512;

const next = random(SEED);
const source = fileURLToPath(new URL('disk-shim.c', import.meta.url));
const program = fileURLToPath(new URL('disk-child.mts', import.meta.url));

interface Said {
  readonly id?: string;
  readonly head?: number;
  readonly removed?: string;
  readonly refused?: string;
  readonly kind?: string;
  readonly failed?: string;
  readonly defect?: string;
  readonly closed?: true;
  readonly journal: number;
}

type Operation =
  | { readonly kind: 'write' | 'durable'; readonly offset: number; readonly data: Buffer; readonly end: number }
  | { readonly kind: 'sync'; readonly end: number };

const canBuild = process.platform === 'linux' && existsSync('/usr/bin/cc');
if (!canBuild) console.warn('SKIPPED: power cuts and failing disks need Linux and a C compiler');

describe.skipIf(!canBuild)('on a disk', () => {
  let scratch: string;
  let shim: string;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'heddle-disk-'));
    shim = join(scratch, 'shim.so');
    execFileSync('/usr/bin/cc', ['-shared', '-fPIC', '-O1', '-o', shim, source, '-ldl', '-lpthread']);
  });
  afterAll(() => rm(scratch, { recursive: true }));

  async function runScenario(directory: string, environment: Record<string, string>): Promise<Said[]> {
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program, directory], {
      env: { ...process.env, ...environment, LD_PRELOAD: shim },
      timeout: 300_000,
    }).catch((error: { stdout: string; code: unknown; signal: unknown }) => {
      throw new Error(`the scenario ended with ${error.code ?? error.signal}: ${error.stdout}`);
    });
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Said);
  }

  /** What must be there after everything that was acknowledged; a thread of which more was asked may have more. */
  async function check(directory: string, acknowledged: readonly Said[], why: string): Promise<void> {
    const history = await openLmdbHistory({ directory, log: silentLog() });
    const store = history.forTenant('local');
    const removed = new Set(acknowledged.map((each) => each.removed));
    for (const { id, head } of acknowledged) {
      if (id === undefined || head === undefined) continue;
      const found = await store.head(id);
      if (removed.has(id)) expect(found, why).toBeUndefined();
      // Its removal may have been under way.
      else if (id !== 'b' || found !== undefined) expect(found, why).toBeGreaterThanOrEqual(head);
    }
    const page = await store.threads({ archived: false, sortKey: 'createdAt', direction: 'asc', limit: 100 });
    for (const { id } of page.rows) {
      const head = (await store.head(id)) as number;
      await store.append(id, head, at(5, { type: 'threadNamed', name: 'goes on' }));
    }
    await history.close();
    expect((await verifyHistory(directory)).damages, why).toEqual([]);
  }

  it(`keeps what was acknowledged through ${CUTS} power cuts (seed ${SEED})`, async () => {
    const journal = join(scratch, 'journal');
    await writeFile(journal, '');
    const said = await runScenario(join(scratch, 'watched'), { DISK_JOURNAL: journal });
    expect(said.at(-1)).toMatchObject({ closed: true });
    const operations = parse(await readFile(journal));
    expect(operations.length).toBeGreaterThan(50);
    for (let round = 0; round < CUTS; round += 1) {
      const cut = next(operations.length + 1);
      const directory = join(scratch, `cut-${round}`);
      await mkdir(recordsDirectory(directory), { recursive: true });
      const image = imageAt(operations, cut, next);
      if (image.length > 0) await writeFile(recordsFile(directory), image);
      const end = operations[cut - 1]?.end ?? 0;
      await check(
        directory,
        said.filter((each) => each.journal <= end),
        `round ${round}, cut behind ${cut} of ${operations.length}`,
      );
      await rm(directory, { recursive: true });
    }
  }, 3_600_000);

  it.each(['EIO', 'ENOSPC'])(
    `refuses what the disk refuses with %s, and opens again (seed ${SEED})`,
    async (error) => {
      const journal = join(scratch, `all-${error}`);
      await writeFile(journal, '');
      await runScenario(join(scratch, `counted-${error}`), { DISK_JOURNAL: journal });
      // The first call makes a database where there was none; failing there, the library ends the process.
      const operations = parse(await readFile(journal));
      const count = operations.length;
      const all = Array.from({ length: count - 1 }, (_, index) => index + 2);
      // The root of the database: a commit that fails there ruins what is open, while others wait behind it.
      const roots = all.filter((place) => operations[place - 1]?.kind === 'durable');
      const places =
        FAILURES >= count
          ? all
          : [...sample(all, FAILURES), ...sample(roots.slice(0, -1), FAILURES), ...roots.slice(-1)];
      for (const place of places) {
        const why = `call ${place} of ${count}`;
        const directory = join(scratch, `fail-${error}-${place}`);
        await rm(directory, { recursive: true, force: true });
        const said = await runScenario(directory, { DISK_FAIL_AT: String(place), DISK_FAIL_WITH: error });
        for (const each of said) {
          expect(each.defect, why).toBeUndefined();
          if (each.refused !== undefined) expect(each.kind, why).toBe('unavailable');
          if (each.failed !== undefined) expect(each.failed, why).toBe('unavailable');
        }
        await check(directory, said, why);
        await rm(directory, { recursive: true });
      }
    },
    3_600_000,
  );
});

function sample<T>(values: readonly T[], count: number): T[] {
  return Array.from({ length: count }, () => values[next(values.length)] as T);
}

/** The file after a cut: what was synced, and of the rest what the disk happened to have written. */
function imageAt(operations: readonly Operation[], cut: number, next: (below: number) => number): Buffer {
  let image = Buffer.alloc(0);
  let loose: { offset: number; data: Buffer }[] = [];
  const apply = (offset: number, data: Buffer) => {
    if (image.length < offset + data.length)
      image = Buffer.concat([image, Buffer.alloc(offset + data.length - image.length)]);
    data.copy(image, offset);
  };
  for (const operation of operations.slice(0, cut)) {
    if (operation.kind === 'write') loose.push(operation);
    else if (operation.kind === 'durable') apply(operation.offset, operation.data);
    else {
      for (const { offset, data } of loose) apply(offset, data);
      loose = [];
    }
  }
  const sectors = loose.flatMap(({ offset, data }) =>
    Array.from({ length: Math.ceil(data.length / SECTOR) }, (_, index) => ({
      offset: offset + index * SECTOR,
      data: data.subarray(index * SECTOR, (index + 1) * SECTOR),
    })),
  );
  for (let index = sectors.length - 1; index > 0; index -= 1) {
    const other = next(index + 1);
    [sectors[index], sectors[other]] = [
      sectors[other] as (typeof sectors)[number],
      sectors[index] as (typeof sectors)[number],
    ];
  }
  for (const { offset, data } of sectors.slice(0, next(sectors.length + 1))) apply(offset, data);
  return image;
}

function parse(journal: Buffer): Operation[] {
  const operations: Operation[] = [];
  for (let at = 0; at < journal.length; ) {
    const kind = journal.readUInt8(at);
    const offset = Number(journal.readBigUInt64LE(at + 1));
    const length = Number(journal.readBigUInt64LE(at + 9));
    const end = at + 17 + length;
    if (kind === 2) operations.push({ kind: 'sync', end });
    else operations.push({ kind: kind === 3 ? 'durable' : 'write', offset, data: journal.subarray(at + 17, end), end });
    at = end;
  }
  return operations;
}

/** A number below the given one, as the seed decides. */
function random(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
}
