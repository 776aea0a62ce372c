// Real clients, unchanged, against a running server: `codex exec` and the codex terminal interface in tmux.
// Exit code 1 when a step fails or the server sends a message that does not fit the reference's JSON schema.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { execSession } from './clients/exec.mjs';
import { interfaceSession } from './clients/interface.mjs';
import { openScene } from './clients/scene.mjs';
import { hasTmux, Terminal } from './clients/screen.mjs';
import { Steps } from './clients/steps.mjs';
import { missingEntry, target, targetNames } from './kit/target.mjs';
import { loadSchemas } from './kit/validate.mjs';
import { referenceExecutable, writeSchema } from './reference.mjs';

const OUT = path.join(path.dirname(fileURLToPath(import.meta.url)), 'out');
const SESSIONS = { exec: execSession, tui: interfaceSession };

function options() {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', default: 'heddle' },
      exe: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', default: false },
    },
  });
  const wrong = !targetNames.includes(values.target) || values.only.some((name) => !(name in SESSIONS));
  if (values.help || wrong) {
    console.log(
      `node conformance/clients.mjs [--target ${targetNames.join('|')}] [--exe PATH] [--only ${Object.keys(SESSIONS).join('|')}]…`,
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
  const scene = await openScene(chosen.target, { exe: chosen.exe, codex });
  const steps = new Steps(scene, new Terminal(scene.base, scene.clientEnv()));
  try {
    for (const [name, work] of Object.entries(SESSIONS)) {
      if (chosen.only.length === 0 || chosen.only.includes(name)) await steps.session(name, work);
    }
    const { count, faults } = checkMessages(schemas, scene.relay.entries);
    console.log(`\n== schema: ${count} messages of the server checked, ${faults.length} kinds of fault`);
    for (const fault of faults) console.log(`FAULT  ${fault}`);
    console.log(`recorded in ${keep(chosen.target, scene.relay.entries)}`);
    console.log(
      steps.failed + faults.length === 0
        ? '\nthe clients worked'
        : `\nclients FAILED: ${steps.failed} sessions, ${faults.length} schema faults`,
    );
    return steps.failed + faults.length === 0 ? 0 : 1;
  } finally {
    await scene.close();
  }
}

process.exit(await main());
