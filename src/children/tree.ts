// Ending a whole process tree: group, session, descendants and marks; TERM, KILL, and look again until nothing is left.

import { type Clock, sleep, systemClock } from '../base/clock.ts';
import { type Look, lookAround, type RunningProcess } from './processes.ts';
import type { LookFor } from './shared-look.ts';

/** What a tree is found by. */
export interface Tree {
  /** The first process: leader of its own session and group. It may have ended long ago. */
  readonly pid: number;
  /** When it started; tells it from a stranger that got the same pid later. */
  readonly started?: string | undefined;
  /** Its mark; finds descendants that left group and session and lost their parent. */
  readonly mark: string;
}

export interface TreeEnd {
  /** Processes that were still there when time was up, e.g. in an uninterruptible call of the kernel; empty is the rule. */
  readonly left: readonly { readonly pid: number; readonly name: string }[];
}

export interface TreeLimits {
  /** Milliseconds between TERM and KILL; default 2,000. */
  readonly graceMs?: number;
  /** Milliseconds after which what a kill does not end is given up; default 5,000. */
  readonly limitMs?: number;
  readonly clock?: Clock;
  /** How processes are looked for; default: for this tree alone. */
  readonly lookFor?: LookFor;
}

/** What starts and guards a command for us: a sandbox that is told to stop kills what it holds without asking it first. */
const GUARDS: ReadonlySet<string> = new Set(['bwrap']);

/** As many times the limit are spent on a tree in which something still forks. */
const PATIENCE = 6;

/**
 * Asks every process of the tree to end, kills those that have not after the grace, and settles when none is left or when time
 * is up. Never rejects. Stopped processes are continued so that they hear the request.
 */
export async function endTree(tree: Tree, limits: TreeLimits = {}): Promise<TreeEnd> {
  const { graceMs = 2_000, limitMs = 5_000, clock = systemClock, lookFor } = limits;
  const began = clock.elapsed();
  const known = new Map<number, string>();
  const asked = new Set<number>();
  const killed = new Set<number>();
  for (let pause = 5; ; pause = Math.min(pause * 2, 80)) {
    const isKilling = clock.elapsed() - began >= graceMs;
    // At once: a program that goes on as another process every moment is not there any more when all have been looked at.
    const { members, isWhole } = await treeMembers(tree, known, isKilling ? kill : undefined, lookFor);
    if (members.length === 0 && isWhole) return { left: [] };
    // Only what a kill does not end is given up: not what still forks, nor what one long look has kept from being killed.
    const isFutile = isWhole && members.every(({ pid }) => killed.has(pid));
    if (clock.elapsed() - began >= (isFutile ? limitMs : limitMs * PATIENCE))
      return { left: members.map(({ pid, name }) => ({ pid, name })) };
    if (!isKilling) ask(members, asked);
    for (const one of isKilling ? members : []) {
      kill(one);
      killed.add(one.pid);
    }
    // What is not there long enough to be looked at is met by chance only: the more looks the better.
    if (isWhole || !isKilling) await sleep(clock, pause);
  }
}

/**
 * The living processes of a tree. `known` remembers, by pid and start time, what was found before: a process that belonged to
 * the tree once does so until it ends, even when what tied it to the tree is gone. `met` is told of marked ones as they are found.
 */
export async function treeMembers(
  tree: Tree,
  known: Map<number, string> = new Map(),
  met?: (one: RunningProcess) => void,
  lookFor: LookFor = lookAround,
): Promise<{ readonly members: readonly RunningProcess[] } & Pick<Look, 'isWhole'>> {
  const { all, isWhole } = await lookFor({ prefix: tree.mark, since: tree.started, met });
  const leader = all.find(({ pid }) => pid === tree.pid);
  // A pid is not given away again while a group or session of that number lives: a stranger proves that both are empty.
  const isStranger = leader !== undefined && tree.started !== undefined && leader.started !== tree.started;
  const members = new Set<number>();
  for (const one of all) {
    const isOurs =
      known.get(one.pid) === one.started ||
      one.mark === tree.mark ||
      (!isStranger && (one.pid === tree.pid || one.group === tree.pid || one.session === tree.pid));
    if (isOurs) members.add(one.pid);
  }
  addDescendants(all, members);
  members.delete(process.pid);
  const found = all.filter(({ pid }) => members.has(pid));
  for (const one of found) known.set(one.pid, one.started);
  return { members: found, isWhole };
}

function addDescendants(all: readonly RunningProcess[], members: Set<number>): void {
  for (let grew = true; grew; ) {
    grew = false;
    for (const one of all) {
      if (members.has(one.pid) || !members.has(one.parent)) continue;
      members.add(one.pid);
      grew = true;
    }
  }
}

function ask(members: readonly RunningProcess[], asked: Set<number>): void {
  const guarded = members.filter(({ name }) => !GUARDS.has(name));
  for (const { pid } of (guarded.length > 0 ? guarded : members).toSorted(elderFirst)) {
    if (asked.has(pid)) continue;
    asked.add(pid);
    signalQuietly(pid, 'SIGTERM');
    signalQuietly(pid, 'SIGCONT');
  }
}

/** A parent before its children: a shell that outlived its child for a moment would print how that ended. */
const elderFirst = (one: RunningProcess, other: RunningProcess): number =>
  Number(one.started) - Number(other.started) || one.pid - other.pid;

/** Kills the first process and all that stayed in its group, at once; for the rest of the tree there is `endTree`. */
export function killGroup(pid: number): void {
  signalQuietly(-pid, 'SIGKILL');
  signalQuietly(pid, 'SIGKILL');
}

function kill({ pid }: RunningProcess): void {
  if (pid !== process.pid) signalQuietly(pid, 'SIGKILL');
}

/** A process that is gone already needs no signal. */
function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {}
}
