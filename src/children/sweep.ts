// Looking for what programs left behind, for many of them at once: one look through the process table costs as much as a command.

import { type Clock, systemClock } from '../base/clock.ts';
import { deferred } from '../base/signals.ts';
import type { RunningProcess } from './processes.ts';
import type { LookFor } from './shared-look.ts';
import type { Tree } from './tree.ts';

export interface Sweeper {
  /** Settles within a moment after the first process of the tree has ended: whether anything of the tree still runs. */
  hasLeftovers(tree: Tree): Promise<boolean>;
  /** Looks now for all who wait. */
  hurry(): void;
}

/** Milliseconds in which those who ask are collected. */
const COLLECT_MS = 200;

interface Asked {
  readonly tree: Tree;
  readonly answer: (hasLeftovers: boolean) => void;
}

/** For trees whose marks begin with `family`. */
export function createSweeper(family: string, lookFor: LookFor, clock: Clock = systemClock): Sweeper {
  let waiting: Asked[] = [];
  let cancel = () => {};

  const look = async () => {
    const asked = waiting;
    waiting = [];
    const found = await leaders(
      { prefix: family, lookFor },
      asked.map(({ tree }) => tree),
    );
    for (const { tree, answer } of asked) answer(found.has(tree));
  };

  const hurry = () => {
    cancel();
    if (waiting.length > 0) void look();
  };

  return {
    hurry,
    hasLeftovers(tree) {
      const { promise, resolve } = deferred<boolean>();
      if (waiting.length === 0) cancel = clock.timer(COLLECT_MS, () => void look());
      waiting.push({ tree, answer: resolve });
      return promise;
    },
  };
}

/** The trees of which a process still runs: in their group or session, or with their mark. */
async function leaders(
  { prefix, lookFor }: { readonly prefix: string; readonly lookFor: LookFor },
  trees: readonly Tree[],
): Promise<ReadonlySet<Tree>> {
  const { all, isWhole } = await lookFor({ prefix, since: eldest(trees) });
  if (!isWhole) return new Set(trees); // each is looked for by itself then
  const marked = new Set(all.map(({ mark }) => mark));
  const groups = new Set(all.flatMap(({ group, session }) => [group, session]));
  const byPid = new Map(all.map((one) => [one.pid, one]));
  return new Set(trees.filter((tree) => marked.has(tree.mark) || (groups.has(tree.pid) && isStill(tree, byPid))));
}

/** When the first of them started; undefined if that is not known of each. */
function eldest(trees: readonly Tree[]): string | undefined {
  const starts = trees.map(({ started }) => started);
  return starts.includes(undefined)
    ? undefined
    : starts.reduce((one, other) => (Number(other) < Number(one) ? other : one));
}

/** The number of the tree has not gone to a stranger. */
function isStill(tree: Tree, byPid: ReadonlyMap<number, RunningProcess>): boolean {
  const holder = byPid.get(tree.pid);
  return holder === undefined || tree.started === undefined || holder.started === tree.started;
}
