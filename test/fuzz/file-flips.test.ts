// One bit changed anywhere in the database file: reading it always ends with a verdict, and never gives a record that was not written.

import { spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import { recordsFile } from '../../src/history/places.ts';
import { SEED } from '../harness/chance.ts';
import { at, threadMeta, wholeTurn } from '../harness/history-events.ts';

const FLIPS = Number(process.env.HEDDLE_FLIPS ?? 300);
const PAGE = 4096;
/** A reader that says nothing for so long hangs. */
const SILENCE_MS = 300_000;

interface Line {
  readonly round: number;
  readonly place: number;
  readonly begins?: true;
  readonly verdict?: string;
  readonly lies?: number;
}

const program = fileURLToPath(new URL('file-flips-child.mts', import.meta.url));

/** Runs the reader from a round on; gives what it said, and whether it ended by itself. */
async function read(directory: string, from: number): Promise<{ lines: Line[]; isOver: boolean; hangs: boolean }> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', program, directory, String(SEED), String(from), String(FLIPS)],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const lines: Line[] = [];
  let hangs = false;
  const silence = () =>
    setTimeout(() => {
      hangs = true;
      child.kill('SIGKILL');
    }, SILENCE_MS);
  let timer = silence();
  for await (const line of createInterface({ input: child.stdout })) {
    clearTimeout(timer);
    timer = silence();
    lines.push(JSON.parse(line) as Line);
  }
  clearTimeout(timer);
  const code = child.exitCode ?? (await new Promise<number | null>((resolve) => child.once('close', resolve)));
  return { lines, isOver: code === 0, hangs };
}

it(`ends with a verdict after each of ${FLIPS} flips (seed ${SEED})`, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-flips-'));
  const history = await openLmdbHistory({ directory, log: silentLog() });
  const store = history.forTenant('local');
  for (let index = 0; index < 30; index += 1) {
    const head = await store.create(threadMeta(`t${index}`), at(1, ...wholeTurn('u')));
    await store.append(`t${index}`, head, at(2, ...wholeTurn('v')));
  }
  await history.close();
  await copyFile(recordsFile(directory), `${recordsFile(directory)}.whole`);
  const verdicts = new Map<string, number>();
  const count = (verdict: string) => verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
  const lies: Line[] = [];
  for (let from = 0; from < FLIPS; ) {
    const { lines, isOver, hangs } = await read(directory, from);
    for (const line of lines) {
      // The two roots: the older one is whole in itself, so that losing the newer one shows nowhere.
      if (line.verdict === 'fewer') expect(line.place, JSON.stringify(line)).toBeLessThan(2 * PAGE);
      if (line.verdict !== undefined) count(line.verdict.startsWith('thrown') ? 'thrown' : line.verdict);
      if (line.lies !== undefined && line.lies > 0) lies.push(line);
    }
    if (isOver) break;
    // The process of the reader ended with the last flip that it began, or after its verdict, when the file was let go.
    const last = lines.at(-1);
    expect(last, `seed ${SEED}, from ${from}`).toBeDefined();
    expect(hangs, `seed ${SEED}: ${JSON.stringify(last)}`).toBe(false);
    if (last?.begins) count('ended the process');
    from = (last as Line).round + 1;
  }
  console.info(`verdicts: ${JSON.stringify(Object.fromEntries(verdicts))}`);
  expect([...verdicts.values()].reduce((sum, each) => sum + each, 0)).toBe(FLIPS);
  expect(lies, `seed ${SEED}`).toEqual([]);
  await rm(directory, { recursive: true });
}, 3_600_000);
