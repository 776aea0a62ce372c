// Whether a database should be looked at in another process before it is opened: a damaged file can end the process that reads it.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { AppError, diskAdvice, messageOf } from '../base/errors.ts';
import { recordsDirectory } from './places.ts';
import type { OpenedHistory } from './read-only.ts';
import { breathe } from './rows.ts';
import { threadsIn } from './threads-in.ts';

/** So many openings without a close within this time are a loop of crashes. */
const LOOP = 3;
const LOOP_MS = 120_000;

const markerOf = (directory: string): string => join(recordsDirectory(directory), 'in-use.json');

/** Openings that were not followed by a close, oldest first, in epoch ms. */
function unclosed(directory: string): readonly number[] {
  try {
    const found: unknown = JSON.parse(readFileSync(markerOf(directory), 'utf8'));
    return Array.isArray(found) ? found.filter((each) => typeof each === 'number') : [0];
  } catch (error) {
    return (error as { code?: unknown }).code === 'ENOENT' ? [] : [0];
  }
}

/** `quick`: the last process to have it did not close it. `whole`: several did not, one shortly after the other. */
export function suspicion(directory: string, nowMs: number): 'none' | 'quick' | 'whole' {
  const openings = unclosed(directory);
  if (openings.length === 0) return 'none';
  const recent = openings.filter((atMs) => nowMs - atMs < LOOP_MS);
  return recent.length >= LOOP ? 'whole' : 'quick';
}

/** Before the database is opened for writing. */
export function noteOpening(directory: string, nowMs: number): void {
  const openings = [...unclosed(directory), nowMs].slice(-LOOP);
  try {
    writeFileSync(markerOf(directory), JSON.stringify(openings), { mode: 0o600 });
  } catch (error) {
    const why = diskAdvice(error) ?? messageOf(error);
    throw new AppError('unavailable', `the history in ${directory} cannot be opened: ${why}`, {}, { cause: error });
  }
}

/** It was closed as it should be, or looked at as a whole and found sound. Where nothing can be removed, the next start looks again. */
export function noteClosing(directory: string): void {
  try {
    rmSync(markerOf(directory), { force: true });
  } catch {}
}

/** Touches what is needed to find every thread, for at most `limitMs`. Throws, or ends the process, at a damaged structure. */
export async function quickLook({ rows }: OpenedHistory, limitMs: number): Promise<void> {
  const end = systemClock.elapsed() + limitMs;
  rows.stats();
  let seen = 0;
  for (const _ of threadsIn(rows)) {
    seen += 1;
    if (systemClock.elapsed() > end) return;
    if (seen % 500 === 0) await breathe();
  }
}
