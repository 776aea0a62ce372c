// Real clients, unchanged, that start their server themselves: each is told that `heddle-codex` is the program to start.
// Exit code 1 when a step of one fails. Prints a table of what was driven; `--write` puts it into docs/compatibility.md.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { table, writeTable } from './matrix.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.join(HERE, '..');
const LIMIT_MS = 400_000;

/** `by`: how the client is told what to start. `apart`: it has a package of its own, for its size. */
const CLIENTS = [
  { driver: 'codex-acp', name: '@agentclientprotocol/codex-acp', by: '`CODEX_PATH`' },
  { driver: 'ai-sdk-app-server', name: 'ai-sdk-provider-codex-app-server', by: '`codexPath`' },
  { driver: 'ai-sdk-cli', name: 'ai-sdk-provider-codex-cli', by: '`codexPath`' },
  { driver: 'happy', name: 'happy', by: '`codex` first on PATH', apart: 'happy' },
];

const { values } = parseArgs({
  options: {
    exe: { type: 'string', default: path.join(ROOT, 'bin', 'heddle-codex.js') },
    target: { type: 'string', default: 'heddle' },
    modules: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  const drivers = CLIENTS.map(({ driver }) => driver).join('|');
  console.log(
    `node conformance/drop-in.mjs [--only ${drivers}]… [--exe PATH] [--modules DIR] [--target heddle|reference] [--write]`,
  );
  process.exit(0);
}

function modulesOf({ apart = '' }) {
  return values.modules ?? path.join(HERE, apart, 'node_modules');
}

function versionOf(client) {
  try {
    return JSON.parse(fs.readFileSync(path.join(modulesOf(client), client.name, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}

/** The steps that a driver printed, and whether all of them were as they should be. */
async function drive(client) {
  console.log(`\n== ${client.name} ${versionOf(client)}`);
  const args = ['--exe', values.exe, '--target', values.target, '--modules', modulesOf(client)];
  const child = spawn(process.execPath, [path.join(HERE, 'kit/clients', `drive-${client.driver}.mjs`), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    text += piece;
    process.stdout.write(piece);
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  const steps = [...text.matchAll(/^(ok|FAILED) +(.+?)( \(optional\))?(: .*)?$/gm)];
  return {
    worked: code === 0 && steps.length > 0,
    steps: steps.map(([, outcome, label]) => (outcome === 'ok' ? label : `~~${label}~~`)),
  };
}

const tableOf = (results) =>
  table(
    ['client', 'version', 'told by'],
    results.map((client) => ({ ...client, cells: [client.name, versionOf(client), client.by] })),
  );

const results = [];
for (const client of CLIENTS) {
  if (values.only.length > 0 && !values.only.includes(client.driver)) continue;
  const outcome =
    versionOf(client) === undefined ? { worked: false, steps: ['it is not installed'] } : await drive(client);
  results.push({ ...client, ...outcome });
}
console.log(`\n${tableOf(results)}`);
if (values.write) writeTable('drop-in', tableOf(results));
process.exit(results.every(({ worked }) => worked) ? 0 : 1);
