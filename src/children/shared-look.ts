// One look through the process table for all who want one: with many trees to end, a look for each would take all the time there is.

import { deferred } from '../base/signals.ts';
import { type Look, lookAround, type MarkSearch } from './processes.ts';

/** Looks for marks; those that it was not asked for may be found as well. */
export type LookFor = (search: MarkSearch) => Promise<Look>;

interface Waiting {
  readonly search: MarkSearch;
  readonly answer: (look: Look) => void;
}

/** E.g. for want of descriptors: it is looked again. */
const NOTHING_SEEN: Look = { all: [], isWhole: false };

/** For marks that begin with `family`. Who asks during a look gets the next one, so that none is older than its question. */
export function createSharedLook(family: string, lookFor: LookFor = lookAround): LookFor {
  let waiting: Waiting[] = [];
  let isLooking = false;

  const lookForAll = async () => {
    isLooking = true;
    while (waiting.length > 0) {
      const asked = waiting;
      waiting = [];
      const look = await lookFor(merged(family, asked)).catch(() => NOTHING_SEEN);
      for (const { answer } of asked) answer(look);
      // Whoever looks again at once is in the next round with all others.
      await Promise.resolve();
    }
    isLooking = false;
  };

  return (search) => {
    const { promise, resolve } = deferred<Look>();
    waiting.push({ search, answer: resolve });
    if (!isLooking) void lookForAll();
    return promise;
  };
}

function merged(family: string, asked: readonly Waiting[]): MarkSearch {
  const starts = asked.map(({ search }) => search.since);
  const since = starts.every((start) => start) ? starts.reduce(elder) : undefined;
  const met = new Map(asked.map(({ search }) => [search.prefix, search.met]));
  const isChasing = asked.some(({ search }) => search.met !== undefined);
  return { prefix: family, since, ...(isChasing ? { met: (one) => met.get(one.mark ?? '')?.(one) } : {}) };
}

const elder = (one: string | undefined, other: string | undefined): string | undefined =>
  Number(other) < Number(one) ? other : one;
