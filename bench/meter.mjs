// What the system knows of a process: processor time and memory; and how fast the disk syncs.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const ticksPerSecond = clockTicks();

function clockTicks() {
  try {
    return Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) || 100;
  } catch {
    return 100;
  }
}

/** Processor time of all threads of a process, in ms (user and system); NaN where /proc does not exist. */
export const cpuMs = (pid) => ticksMs(pid, [11, 12]);

/** The same and that of its children that have ended, with theirs. */
export const cpuMsWithChildren = (pid) => ticksMs(pid, [11, 12, 13, 14]);

function ticksMs(pid, columns) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (columns.reduce((sum, column) => sum + Number(fields[column]), 0) * 1_000) / ticksPerSecond;
  } catch {
    return Number.NaN;
  }
}

/** Resident memory of a process in KiB; NaN where /proc does not exist. */
export function residentKib(pid) {
  for (const [file, pattern] of [
    [`/proc/${pid}/smaps_rollup`, /^Rss:\s+(\d+) kB/m],
    [`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB/m],
  ]) {
    try {
      const found = pattern.exec(fs.readFileSync(file, 'utf8'));
      if (found) return Number(found[1]);
    } catch {
      // Not on this system; the next one may be.
    }
  }
  return Number.NaN;
}

/** Times, in ms, of `fdatasync` after writing one page in `folder`. */
export function syncTimes(folder, count = 300) {
  const file = path.join(folder, 'sync-probe');
  const handle = fs.openSync(file, 'w');
  const page = Buffer.alloc(4_096, 1);
  const times = [];
  for (let index = 0; index < count; index += 1) {
    fs.writeSync(handle, page, 0, page.length, (index % 64) * page.length);
    const start = performance.now();
    fs.fdatasyncSync(handle);
    times.push(performance.now() - start);
  }
  fs.closeSync(handle);
  fs.rmSync(file);
  return times;
}

/** The value below which `share` of the values lie; 0.5 is the median. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
