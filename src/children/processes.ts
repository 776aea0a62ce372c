// What runs on this machine, as far as ending process trees needs it: parents, groups, sessions and environment marks.

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The environment variable that every child of this program carries, and so every descendant that keeps its environment. */
export const MARK_VARIABLE = 'HEDDLE_CHILD';

export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Start time in the unit of the system; with the pid it names one process for ever. */
  readonly started: string;
  /** The program's short name. */
  readonly name: string;
}

/** How many processes are looked at before other work of this program gets its turn. */
const SLICE = 64;

/** Every process that has not ended; what has ended and merely waits to be collected by its parent is left out. */
export async function runningProcesses(): Promise<readonly RunningProcess[]> {
  if (process.platform !== 'linux') return processesByPs();
  const found: RunningProcess[] = [];
  let looked = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const one = linuxProcess(Number(name));
    if (one) found.push(one);
    looked += 1;
    if (looked % SLICE === 0) await nextTurn();
  }
  return found;
}

/** When a process started, or undefined if it has ended or this system does not tell cheaply. */
export function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxProcess(pid)?.started : undefined;
}

/** The pids among `candidates` whose environment carries a mark that begins with `mark`. */
export async function markedProcesses(mark: string, candidates: readonly number[]): Promise<ReadonlySet<number>> {
  if (process.platform !== 'linux') return markedByPs(mark);
  const wanted = Buffer.from(`${MARK_VARIABLE}=${mark}`);
  const marked = new Set<number>();
  let looked = 0;
  for (const pid of candidates) {
    if (readQuietly(`/proc/${pid}/environ`)?.includes(wanted)) marked.add(pid);
    looked += 1;
    if (looked % SLICE === 0) await nextTurn();
  }
  return marked;
}

function linuxProcess(pid: number): RunningProcess | undefined {
  const stat = readQuietly(`/proc/${pid}/stat`)?.toString('latin1');
  if (stat === undefined) return undefined;
  // The name stands in parentheses and may hold anything, parentheses and blanks too.
  const open = stat.indexOf('(');
  const close = stat.lastIndexOf(')');
  const fields = stat.slice(close + 2).split(' ');
  const [state, parent, group, session] = fields;
  if (state === undefined || state === 'Z' || state === 'X') return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    started: fields[19] ?? '',
    name: stat.slice(open + 1, close),
  };
}

/** A process may end, or belong to somebody else, at any moment: both count as "not there". */
function readQuietly(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

async function processesByPs(): Promise<readonly RunningProcess[]> {
  const lines = await ps(['-axo', 'pid=,ppid=,pgid=,stat=,lstart=,comm=']);
  const found: RunningProcess[] = [];
  for (const line of lines) {
    const fields = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(line);
    if (!fields || fields[4]?.startsWith('Z')) continue;
    found.push({
      pid: Number(fields[1]),
      parent: Number(fields[2]),
      group: Number(fields[3]),
      session: 0, // not told by this ps; groups, parents and marks have to do
      started: fields[5] ?? '',
      name: fields[6]?.split('/').at(-1) ?? '',
    });
  }
  return found;
}

async function markedByPs(mark: string): Promise<ReadonlySet<number>> {
  const lines = await ps(['-axEwwo', 'pid=,command=']);
  const marked = lines.filter((line) => line.includes(`${MARK_VARIABLE}=${mark}`));
  return new Set(marked.map((line) => Number.parseInt(line, 10)));
}

function ps(options: readonly string[]): Promise<readonly string[]> {
  return new Promise((resolve) => {
    execFile('/bin/ps', [...options], { maxBuffer: 64 * 1024 * 1024 }, (_error, stdout) => resolve(stdout.split('\n')));
  });
}
