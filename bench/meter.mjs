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
export function cpuMs(pid) {
  const { own } = statOf(pid) ?? { own: Number.NaN };
  return own;
}

/** The same with that of everything below the process, running or ended: a server may start commands through a helper. */
export function treeCpuMs(pid) {
  const stats = new Map(processes().map((each) => [each, statOf(each)]));
  if (!stats.get(pid)) return Number.NaN;
  const isBelow = (each) => each === pid || (stats.get(each) !== undefined && isBelow(stats.get(each).parent));
  const tree = [...stats.keys()].filter(isBelow);
  return tree.reduce((sum, each) => sum + stats.get(each).own + stats.get(each).ended, 0);
}

function processes() {
  try {
    return fs.readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/** `ended`: ms of children that have ended, with theirs; undefined when there is no such process. */
function statOf(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const ms = (ticks) => (ticks * 1_000) / ticksPerSecond;
    return { parent: fields[1], own: ms(fields[11] + fields[12]), ended: ms(fields[13] + fields[14]) };
  } catch {
    return undefined;
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
  const probe = syncProbe(folder);
  const times = Array.from({ length: count }, () => probe.time());
  probe.close();
  return times;
}

/** A file of its own to time single syncs with; a disk answers a sync after a pause slower than one of a row. */
export function syncProbe(folder) {
  const file = path.join(folder, 'sync-probe');
  const handle = fs.openSync(file, 'w');
  const page = Buffer.alloc(4_096, 1);
  let index = 0;
  return {
    /** Milliseconds of one bare fdatasync of a page. */
    time() {
      fs.writeSync(handle, page, 0, page.length, (index++ % 64) * page.length);
      const start = performance.now();
      fs.fdatasyncSync(handle);
      return performance.now() - start;
    },
    close() {
      fs.closeSync(handle);
      fs.rmSync(file);
    },
  };
}

/** The value below which `share` of the values lie; 0.5 is the median. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
