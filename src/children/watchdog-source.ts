// The text of the watchdog program: plain script without imports of ours, so that it runs the same from source and from the bundle.

/**
 * Arguments: the name of the mark's variable, the beginning of its value, and the file of the library that calls the system (empty:
 * none). Standard input: lines `+PID START`, `-PID`, `farewell`,
 * and `=` with an order to start a program (see `Order`), which is answered and later told of in lines on standard output.
 * It repeats in short what `tree.ts`, `limit.ts` and `marks.ts` do, because it must not depend on a file that an update may replace while it waits.
 */
export const WATCHDOG_SOURCE = String.raw`
'use strict';
const fs = require('node:fs');
const { execFileSync, spawn } = require('node:child_process');
const [variable, prefix, library] = process.argv.slice(-3);
const mark = Buffer.from(variable + '=' + prefix);
const digits = '4' + prefix.slice(0, 8);
// What is older than the server is not its own.
const since = Number(startOf(process.ppid) || NaN);
const guarded = new Map();
const known = new Map();
const asked = new Set();
const killed = new Set();
let isFarewell = false;
let rest = '';

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGPIPE']) process.on(signal, () => {});
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n');
  rest = lines.pop();
  for (const line of lines) take(line);
});
process.stdin.on('end', finish);
process.stdin.on('error', finish);
process.stdout.on('error', () => {});
tell({ ready: true });
// Before the first order: loading takes a moment.
const putLimit = openLimit();

function openLimit() {
  try {
    if (library === '') throw new Error('no library that calls the system');
    const system = require(library).load(null);
    const [get, set] = ['getrlimit', 'setrlimit'].map((name) => system.func('int ' + name + '(int, void*)'));
    const own = new BigUint64Array(2);
    if (get(15, own) !== 0) throw new Error('the limit cannot be read');
    const reset = () => set(15, own);
    const put = (value) => {
      if (set(15, new BigUint64Array([BigInt('0x' + value), own[1]])) !== 0) throw new Error('the limit cannot be set');
      return reset;
    };
    const probe = digits + '0000000';
    put(probe);
    const isThere = limitIn(fs.readFileSync('/proc/self/limits', 'latin1')) === probe;
    reset();
    if (!isThere) throw new Error('the limit cannot be seen');
    return put;
  } catch (error) {
    tell({ unmarked: error.message });
    return () => () => {};
  }
}

function limitIn(table) {
  const value = /^Max realtime timeout +([1-9][0-9]*) /m.exec(table);
  return value ? BigInt(value[1]).toString(16).padStart(16, '0') : '';
}

// The second mark, for what is forked until it is taken back.
function markNext(whole) {
  try {
    return putLimit(digits + whole.slice(prefix.length));
  } catch (error) {
    tell({ unmarked: error.message });
    return () => {};
  }
}

function tell(what) {
  process.stdout.write(JSON.stringify(what) + '\n');
}

function take(line) {
  if (line === 'farewell') isFarewell = true;
  if (line[0] === '=') return launch(JSON.parse(line.slice(1)));
  const [pid, start] = line.slice(1).split(' ');
  if (line[0] === '+') guarded.set(Number(pid), start);
  if (line[0] === '-') guarded.delete(Number(pid));
}

function launch({ id, file, argv, cwd, env, descriptors, server }) {
  const opened = [];
  let isHelpers = true;
  const refuse = (error) => tell({ id, refusal: { code: String(error.code), message: error.message, isHelpers } });
  try {
    for (const each of descriptors)
      opened.push(each ? fs.openSync('/proc/' + server + '/fd/' + each.descriptor, each.flags | fs.constants.O_NOCTTY) : 'ignore');
    isHelpers = false;
    const takeBack = markNext(env[variable]);
    let child;
    try {
      child = spawn(file, argv.slice(1), { argv0: argv[0], cwd, env, detached: true, stdio: opened });
    } finally {
      takeBack();
    }
    child.on('error', (error) => child.pid === undefined && refuse(error));
    if (child.pid === undefined) return;
    const started = startOf(child.pid);
    guarded.set(child.pid, started);
    tell({ id, pid: child.pid, start: started });
    child.on('exit', (code, signal) => tell({ id, code, signal }));
  } catch (error) {
    refuse(error);
  } finally {
    for (const each of opened) if (each !== 'ignore') fs.closeSync(each);
  }
}

function startOf(pid) {
  try {
    const stat = fs.readFileSync('/proc/' + pid + '/stat', 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return '';
  }
}

const KILL_MS = 2000;
let began = 0;
// No process can have escaped the look by going on as another one meanwhile.
let isWhole = true;
function finish() {
  if (isFarewell) process.exit(0);
  if (began > 0) return;
  began = Date.now();
  sweep();
}

function sweep() {
  const members = find();
  const spent = Date.now() - began;
  const isKilling = spent >= KILL_MS;
  // Only what a kill does not end is given up, not what still forks.
  const isFutile = isWhole && members.every((pid) => killed.has(pid));
  if ((members.length === 0 && isWhole) || spent > (isFutile ? 4800 : 30000)) process.exit(0);
  for (const pid of members) {
    if (isKilling) {
      killed.add(pid);
      signal(pid, 'SIGKILL');
    } else if (!asked.has(pid)) {
      asked.add(pid);
      signal(pid, 'SIGTERM');
      signal(pid, 'SIGCONT');
    }
  }
  setTimeout(sweep, isWhole || !isKilling ? 100 : 0);
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {}
}

function find() {
  const all = process.platform === 'linux' ? fromProc() : fromPs();
  const byPid = new Map(all.map((one) => [one.pid, one]));
  const isLive = (leader) => {
    if (!guarded.has(leader)) return false;
    const one = byPid.get(leader);
    return !one || !guarded.get(leader) || one.start === guarded.get(leader);
  };
  const ours = new Set();
  for (const one of all)
    if (one.marked || isLive(one.pid) || isLive(one.group) || isLive(one.session) || known.get(one.pid) === one.start)
      ours.add(one.pid);
  for (let grew = true; grew; ) {
    grew = false;
    for (const one of all)
      if (!ours.has(one.pid) && ours.has(one.parent)) {
        ours.add(one.pid);
        grew = true;
      }
  }
  ours.delete(process.pid);
  for (const pid of ours) known.set(pid, byPid.get(pid).start);
  return [...ours];
}

// What had ended once its turn came may have started something else: what is new is looked at, until nothing has.
function fromProc() {
  const all = [];
  const seen = new Set();
  let last = NaN;
  isWhole = false;
  for (let round = 0; !isWhole && round < 32; round += 1) {
    isWhole = true;
    const before = last;
    last = Number(textOf('/proc/loadavg').toString('latin1').split(' ').pop());
    for (const pid of numbersBetween(before, last)) {
      if (seen.has(pid)) continue;
      seen.add(pid);
      const one = processOf(pid);
      if (one) all.push(one);
      if (!one || one.hasEnded) isWhole = false;
      // At once: what goes on as another process every moment is not there any more when all have been looked at.
      if (one && one.marked && Date.now() - began >= KILL_MS) signal(pid, 'SIGKILL');
    }
  }
  return all;
}

function numbersBetween(before, last) {
  const count = last - before;
  if (count >= 0 && count <= 256) return Array.from({ length: count }, (_, index) => last - index);
  return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).reverse().map(Number);
}

function processOf(pid) {
  const stat = textOf('/proc/' + pid + '/stat').toString('latin1');
  const field = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (field.length < 20 || field[0] === 'Z' || field[0] === 'X') return undefined;
  const one = { pid, parent: Number(field[1]), group: Number(field[2]), session: Number(field[3]), start: field[19], marked: false, hasEnded: false };
  if (Number(one.start) < since) return one;
  const limits = textOf('/proc/' + pid + '/limits').toString('latin1');
  one.marked = pid !== process.pid && (limitIn(limits).startsWith(digits) || textOf('/proc/' + pid + '/environ').includes(mark));
  one.hasEnded = limits === '';
  return one;
}

function textOf(path) {
  try {
    return fs.readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

function fromPs() {
  const text = execFileSync('/bin/ps', ['-axEwwo', 'pid=,ppid=,pgid=,stat=,command='], { maxBuffer: 1 << 26 }).toString('latin1');
  const all = [];
  for (const line of text.split('\n')) {
    const field = line.trim().split(/\s+/);
    if (field.length < 5 || field[3][0] === 'Z') continue;
    all.push({ pid: Number(field[0]), parent: Number(field[1]), group: Number(field[2]), session: 0, start: '', marked: line.includes(variable + '=' + prefix) });
  }
  return all;
}
`;
