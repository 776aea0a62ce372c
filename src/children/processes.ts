// What runs on this machine, as far as ending process trees needs it: parents, groups, sessions and marks.

import { execFile } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MARK_VARIABLE, markInLimits } from './marks.ts';

export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Start time in the unit of the system; with the pid it names one process for ever. */
  readonly started: string;
  /** The program's short name. */
  readonly name: string;
  /** The whole of a mark that was looked for. */
  readonly mark?: string | undefined;
}

export interface MarkSearch {
  /** What the marks begin with. */
  readonly prefix: string;
  /** Start of the first process that may have one; undefined: any may. Looking for marks is what a look costs most. */
  readonly since?: string | undefined;
  /** Told of each process with such a mark once it is found: what lives for less than a whole look can be met only now. */
  readonly met?: ((one: RunningProcess) => void) | undefined;
}

export interface Look {
  /** Every process that has not ended; what has ended and merely waits to be collected by its parent is left out. */
  readonly all: readonly RunningProcess[];
  /** Nothing can have escaped the look by going on as another process meanwhile. */
  readonly isWhole: boolean;
}

/** How many processes are looked at before other work of this program gets its turn. */
const SLICE = 64;
/** Rounds of one look: where programs end all the time, one more would always be due. */
const ROUNDS = 32;
const FEW_ROUNDS = 8;
/** Numbers that are tried one by one: more are listed sooner. */
const FEW = 256;

/**
 * What runs now. What had ended once its turn came may have started something that was not listed: so what is new is looked at,
 * until nothing has.
 */
export async function lookAround(search?: MarkSearch): Promise<Look> {
  if (process.platform !== 'linux') return { all: await processesByPs(search), isWhole: true };
  const all: RunningProcess[] = [];
  const seen = new Set<number>();
  let looked = 0;
  let isWhole = false;
  let last = Number.NaN;
  // While nobody is killed on sight there is no hurry: the next look comes soon.
  const rounds = !search || search.met ? ROUNDS : FEW_ROUNDS;
  for (let round = 0; !isWhole && round < rounds; round += 1) {
    isWhole = true;
    const before = last;
    last = lastNumber();
    for (const pid of numbersBetween(before, last) ?? listed()) {
      if (seen.has(pid)) continue;
      seen.add(pid);
      const { one, hasEnded } = linuxProcess(pid, search);
      if (one) all.push(one);
      if (hasEnded) isWhole = false;
      looked += 1;
      if (looked % SLICE === 0) await nextTurn();
    }
  }
  return { all, isWhole };
}

/** The youngest first: they are those that may be gone soon. */
const listed = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .reverse()
    .map(Number);

/** The number that was given away last, to a process or a thread. */
const lastNumber = (): number => Number(textOf('/proc/loadavg').split(' ').at(-1));

/** All numbers that were given away after `before` and up to `last`, the youngest first; undefined if they are too many to try. */
function numbersBetween(before: number, last: number): number[] | undefined {
  const count = last - before;
  return count >= 0 && count <= FEW ? Array.from({ length: count }, (_, index) => last - index) : undefined;
}

/** When a process started, or undefined if it has ended or this system does not tell cheaply. */
export function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxProcess(pid).one?.started : undefined;
}

/** Not told of a process that has ended; one may also end while it is looked at. */
function linuxProcess(pid: number, search?: MarkSearch): { one?: RunningProcess; hasEnded: boolean } {
  const one = processIn(pid, textOf(`/proc/${pid}/stat`));
  if (!one) return { hasEnded: true };
  if (!search || isOlder(one.started, search.since)) return { one, hasEnded: false };
  const limits = textOf(`/proc/${pid}/limits`);
  const mark = markInLimits(limits, search.prefix) ?? markInEnvironment(pid, search.prefix);
  if (mark === undefined) return { one, hasEnded: limits === '' };
  const marked = { ...one, mark };
  search.met?.(marked);
  return { one: marked, hasEnded: false };
}

/** On Linux these are ticks since the machine has started; what is not told compares with nothing. */
const isOlder = (started: string, since: string | undefined): boolean => Number(started) < Number(since || Number.NaN);

function processIn(pid: number, stat: string): RunningProcess | undefined {
  // The name stands in parentheses and may hold anything, parentheses and blanks too.
  const open = stat.indexOf('(');
  const close = stat.lastIndexOf(')');
  const fields = stat.slice(close + 2).split(' ');
  const [state, parent, group, session] = fields;
  if (session === undefined || state === 'Z' || state === 'X') return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    started: fields[19] ?? '',
    name: stat.slice(open + 1, close),
  };
}

function markInEnvironment(pid: number, prefix: string): string | undefined {
  const environment = readQuietly(`/proc/${pid}/environ`);
  const at = environment?.indexOf(`${MARK_VARIABLE}=${prefix}`, 0, 'latin1') ?? -1;
  if (!environment || at < 0) return undefined;
  const end = environment.indexOf(0, at);
  return environment.toString('latin1', at + MARK_VARIABLE.length + 1, end < 0 ? undefined : end);
}

/** More than one of the texts can be. */
const piece = Buffer.alloc(4_096);

/** A short text, read with three calls of the system, since a look reads hundreds; empty for what is not there any more. */
function textOf(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    return piece.toString('latin1', 0, readSync(file, piece));
  } catch {
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** A process may end, or belong to somebody else, at any moment: both count as "not there". */
function readQuietly(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

async function processesByPs(search: MarkSearch | undefined): Promise<readonly RunningProcess[]> {
  const lines = await ps(['-axo', 'pid=,ppid=,pgid=,stat=,lstart=,comm=']);
  const marks = search ? await marksByPs(search.prefix) : undefined;
  const found: RunningProcess[] = [];
  for (const line of lines) {
    const fields = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(line);
    if (!fields || fields[4]?.startsWith('Z')) continue;
    const pid = Number(fields[1]);
    const one = {
      pid,
      parent: Number(fields[2]),
      group: Number(fields[3]),
      session: 0, // not told by this ps; groups, parents and marks have to do
      started: fields[5] ?? '',
      name: fields[6]?.split('/').at(-1) ?? '',
      mark: marks?.get(pid),
    };
    found.push(one);
    if (one.mark !== undefined) search?.met?.(one);
  }
  return found;
}

async function marksByPs(prefix: string): Promise<ReadonlyMap<number, string>> {
  const marks = new Map<number, string>();
  for (const line of await ps(['-axEwwo', 'pid=,command='])) {
    const at = line.indexOf(`${MARK_VARIABLE}=${prefix}`);
    if (at >= 0) marks.set(Number.parseInt(line, 10), line.slice(at + MARK_VARIABLE.length + 1).split(' ')[0] ?? '');
  }
  return marks;
}

function ps(options: readonly string[]): Promise<readonly string[]> {
  return new Promise((resolve) => {
    execFile('/bin/ps', [...options], { maxBuffer: 64 * 1024 * 1024 }, (_error, stdout) => resolve(stdout.split('\n')));
  });
}
