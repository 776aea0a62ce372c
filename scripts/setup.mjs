// What must be there before anything else runs: the right Node, the packages of the lockfile, a build of this source.
// Nothing but Node's own modules may be imported here.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BUNDLE = path.join(ROOT, 'dist/heddle.cjs');

/** Ends the process with a text that says what to do. */
export function giveUp(text, code = 1) {
  console.error(text);
  process.exit(code);
}

const readJson = (file) => JSON.parse(fs.readFileSync(path.join(ROOT, file), 'utf8'));

function checkNode() {
  const needed = readJson('package.json').engines.node.replace('>=', '');
  const [major, minor] = needed.split('.').map(Number);
  const [ourMajor, ourMinor] = process.versions.node.split('.').map(Number);
  if (ourMajor < major || (ourMajor === major && ourMinor < minor))
    giveUp(
      `Heddle needs Node ${needed} or newer; this is ${process.versions.node}. Install a newer one and try again.`,
    );
}

/** Compared by content: a checkout gives files new times without changing them. */
function isInstalled() {
  let installed;
  try {
    installed = readJson('node_modules/.package-lock.json').packages;
  } catch {
    return false;
  }
  return Object.entries(readJson('package-lock.json').packages).every(([place, wanted]) => {
    if (place === '') return true;
    const found = installed[place];
    return found ? found.version === wanted.version : wanted.optional === true || wanted.peer === true;
  });
}

export function install() {
  checkNode();
  if (isInstalled()) return;
  console.log('installing packages (npm ci) …');
  const npm = process.env.npm_execpath;
  const [file, before] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  const { status, error } = spawnSync(file, [...before, 'ci', '--include=dev'], { cwd: ROOT, stdio: 'inherit' });
  if (error) giveUp(`npm could not be started: ${error.message}`);
  if (status !== 0) giveUp('npm ci failed; see above', status ?? 1);
}

function newest(place) {
  const facts = fs.statSync(place);
  if (!facts.isDirectory()) return facts.mtimeMs;
  return Math.max(facts.mtimeMs, ...fs.readdirSync(place).map((name) => newest(path.join(place, name))));
}

export function isBuilt() {
  if (!fs.existsSync(BUNDLE)) return false;
  const sources = ['src', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
  return Math.max(...sources.map((name) => newest(path.join(ROOT, name)))) < fs.statSync(BUNDLE).mtimeMs;
}

export function build() {
  if (isBuilt()) return;
  console.log('building …');
  run('scripts/build.mjs', []);
}

/** Runs a script of this folder, or a program of a package, and ends this process when it fails. */
export function run(script, args) {
  const { status, signal } = spawnSync(process.execPath, [path.join(ROOT, script), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? (signal === 'SIGINT' ? 130 : 1));
}
