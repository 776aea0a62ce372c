// Real clients, unchanged, against a running server: `codex exec` and its like, and the codex terminal interface in tmux.
// Exit code 1 when a step fails or the server sends a message that does not fit the reference's JSON schema. Prints a table
// of what was driven; `--write` puts it into docs/compatibility.md.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { execSession } from './clients/exec.mjs';
import { interfaceSession } from './clients/interface.mjs';
import { openScene } from './clients/scene.mjs';
import { hasTmux, Terminal } from './clients/screen.mjs';
import { screensSession } from './clients/screens.mjs';
import { sessionsSession } from './clients/sessions.mjs';
import { Steps } from './clients/steps.mjs';
import { missingEntry, target, targetNames } from './kit/target.mjs';
import { loadSchemas } from './kit/validate.mjs';
import { table, writeTable } from './matrix.mjs';
import { referenceExecutable, writeSchema } from './reference.mjs';

const OUT = path.join(path.dirname(fileURLToPath(import.meta.url)), 'out');
const SESSIONS = {
  exec: { work: execSession, client: '`codex exec --remote`' },
  sessions: { work: sessionsSession, client: '`codex archive`, `unarchive`, `queue`, `delete` with `--remote`' },
  tui: { work: interfaceSession, client: 'terminal interface, `codex --remote`: a conversation' },
  screens: { work: screensSession, client: 'terminal interface, `codex --remote`: its commands' },
};
/** Sessions of one lane share a server, one after the other; lanes go on at the same time. */
const LANES = [['exec', 'sessions', 'tui'], ['screens']];

function options() {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', default: 'heddle' },
      exe: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const wrong = !targetNames.includes(values.target) || values.only.some((name) => !(name in SESSIONS));
  if (values.help || wrong) {
    console.log(
      `node conformance/clients.mjs [--target ${targetNames.join('|')}] [--exe PATH] [--only ${Object.keys(SESSIONS).join('|')}]… [--write]`,
    );
    process.exit(values.help ? 0 : 2);
  }
  return values;
}

function keep(name, entries) {
  fs.mkdirSync(path.join(OUT, 'clients'), { recursive: true });
  const file = path.join(OUT, 'clients', `${name}.jsonl`);
  fs.writeFileSync(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  return file;
}

function checkMessages(schemas, entries) {
  const fromServer = entries.filter((entry) => entry.from === 'server');
  const faults = schemas.check(entries);
  for (const entry of fromServer) if (entry.raw !== undefined) faults.push(`not JSON text: ${entry.raw}`);
  return { count: fromServer.length, faults };
}

/** The rows of a lane, and how many of the server's messages do not fit; what it has to tell is printed at its end. */
async function drive(lane, chosen, codex, schemas) {
  const lines = [];
  const print = (line) => lines.push(line);
  const scene = await openScene(chosen.target, { exe: chosen.exe, codex });
  const steps = new Steps(scene, new Terminal(scene.base, scene.clientEnv()), print);
  const rows = [];
  try {
    for (const name of lane) rows.push({ name, ...(await steps.session(name, SESSIONS[name].work)) });
    const { count, faults } = checkMessages(schemas, scene.relay.entries);
    print(`\n== schema: ${count} messages of the server checked, ${faults.length} kinds of fault`);
    for (const fault of faults) print(`FAULT  ${fault}`);
    print(`recorded in ${keep(`${chosen.target}-${lane.join('-')}`, scene.relay.entries)}`);
    return { rows, faults: faults.length };
  } finally {
    console.log(lines.join('\n'));
    await scene.close();
  }
}

async function main() {
  const chosen = options();
  const codex = referenceExecutable();
  if (!codex || !fs.existsSync(codex)) {
    console.error('the codex client is not installed: run `npm ci` in conformance/, or set REFERENCE_EXE');
    return 2;
  }
  const absent = missingEntry(target(chosen.target, { exe: chosen.exe }));
  if (absent) {
    console.error(`${absent} does not exist: run \`npm run build\` first`);
    return 2;
  }
  if (!hasTmux()) {
    console.error(
      'tmux is needed to drive the terminal interface: install it (apt-get install tmux, brew install tmux)',
    );
    return 2;
  }
  const schemas = await loadSchemas(writeSchema(codex, path.join(OUT, 'schema')));
  const isChosen = (name) => chosen.only.length === 0 || chosen.only.includes(name);
  const lanes = LANES.map((lane) => lane.filter(isChosen)).filter((lane) => lane.length > 0);
  const driven = await Promise.all(lanes.map((lane) => drive(lane, chosen, codex, schemas)));
  const rows = driven.flatMap((lane) => lane.rows);
  const version = execFileSync(codex, ['--version'], { encoding: 'utf8' }).trim().split(' ').at(-1);
  const text = table(
    ['client', 'version'],
    rows.map(({ name, worked, steps }) => ({ cells: [SESSIONS[name].client, version], worked, steps })),
  );
  console.log(`\n${text}`);
  if (chosen.write) writeTable('remote', text);
  const failed = rows.filter(({ worked }) => !worked).length;
  const faults = driven.reduce((sum, lane) => sum + lane.faults, 0);
  console.log(
    failed + faults === 0 ? '\nthe clients worked' : `\nclients FAILED: ${failed} sessions, ${faults} schema faults`,
  );
  return failed + faults === 0 ? 0 : 1;
}

process.exit(await main());
