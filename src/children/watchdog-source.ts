// The text of the watchdog program: plain script without imports of ours, so that it runs the same from source and from the bundle.

/**
 * Arguments: the name of the mark's variable and the beginning of its value. Standard input: lines `+PID START`, `-PID`, `farewell`,
 * and `=` with an order to start a program (see `Order`), which is answered and later told of in lines on standard output.
 * It repeats in short what `tree.ts` does, because it must not depend on a file that an update may replace while it waits.
 */
export const WATCHDOG_SOURCE = String.raw`
'use strict';
const fs = require('node:fs');
const { execFileSync, spawn } = require('node:child_process');
const [variable, prefix] = process.argv.slice(-2);
const mark = Buffer.from(variable + '=' + prefix);
const guarded = new Map();
const known = new Map();
const asked = new Set();
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
    const child = spawn(file, argv.slice(1), { argv0: argv[0], cwd, env, detached: true, stdio: opened });
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

let began = 0;
function finish() {
  if (isFarewell) process.exit(0);
  if (began > 0) return;
  began = Date.now();
  sweep();
}

function sweep() {
  const members = find();
  const spent = Date.now() - began;
  if (members.length === 0 || spent > 4800) process.exit(0);
  for (const pid of members) {
    if (spent >= 2000) signal(pid, 'SIGKILL');
    else if (!asked.has(pid)) {
      asked.add(pid);
      signal(pid, 'SIGTERM');
      signal(pid, 'SIGCONT');
    }
  }
  setTimeout(sweep, 100);
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

function fromProc() {
  const all = [];
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = fs.readFileSync('/proc/' + name + '/stat', 'latin1');
      const field = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (field[0] === 'Z' || field[0] === 'X') continue;
      const one = { pid: Number(name), parent: Number(field[1]), group: Number(field[2]), session: Number(field[3]), start: field[19], marked: false };
      all.push(one);
      one.marked = fs.readFileSync('/proc/' + name + '/environ').includes(mark);
    } catch {}
  }
  return all;
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
