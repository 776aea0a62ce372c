// What runs on this machine, as far as ending process trees needs it: parents, groups, sessions and environment marks.

import { execFile } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
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
  return new Set((await marksOf(mark, candidates)).keys());
}

/** The marks that begin with `prefix`, by the pids among `candidates` whose environment carries them. */
export async function marksOf(prefix: string, candidates: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (process.platform !== 'linux') return marksByPs(prefix);
  const wanted = Buffer.from(`${MARK_VARIABLE}=${prefix}`);
  const marks = new Map<number, string>();
  let looked = 0;
  for (const pid of candidates) {
    const environment = readQuietly(`/proc/${pid}/environ`);
    const at = environment?.indexOf(wanted) ?? -1;
    if (environment && at >= 0) {
      const end = environment.indexOf(0, at);
      marks.set(pid, environment.toString('latin1', at + MARK_VARIABLE.length + 1, end < 0 ? undefined : end));
    }
    looked += 1;
    if (looked % SLICE === 0) await nextTurn();
  }
  return marks;
}

function linuxProcess(pid: number): RunningProcess | undefined {
  const stat = statOf(pid);
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

/** More than such a line can be. */
const line = Buffer.alloc(4_096);

/** Read with three calls of the system: a look through the table reads hundreds. */
function statOf(pid: number): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(`/proc/${pid}/stat`, 'r');
    return line.toString('latin1', 0, readSync(file, line));
  } catch {
    return undefined;
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
