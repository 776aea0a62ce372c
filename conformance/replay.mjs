// Clients that are not installed here, replayed: what they were recorded to send, or what is known of how they begin, call, answer
// and end. Exit code 1 when a step fails or the server sends a message that does not fit the reference's JSON schema. Prints a
// table; `--write` puts it into docs/compatibility.md.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadSchemas } from './kit/validate.mjs';
import { table, writeTable } from './matrix.mjs';
import { referenceExecutable, writeSchema } from './reference.mjs';
import { SESSIONS } from './replay/sessions.mjs';
import { openStage } from './replay/stage.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({
  options: {
    exe: { type: 'string', default: path.join(HERE, '..', 'bin', 'heddle-codex.js') },
    only: { type: 'string', multiple: true, default: [] },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log('node conformance/replay.mjs [--only TEXT]… [--exe PATH] [--write]');
  process.exit(0);
}

/** The row of one client: its steps until one fails, and whether all that it was sent fits the schema. */
async function replay({ name, version, by, work, ...settings }, schemas) {
  const steps = [];
  const lines = [`\n== ${name}`];
  const stage = await openStage(values.exe, settings);
  let worked = true;
  try {
    await work(stage, async (label, act) => {
      try {
        const note = await act();
        steps.push(label);
        lines.push(`ok     ${label}${typeof note === 'string' ? ` (${note})` : ''}`);
      } catch (error) {
        steps.push(`~~${label}~~`);
        throw error;
      }
    });
  } catch (error) {
    worked = false;
    lines.push(`FAILED ${steps.at(-1)}: ${error.message}`, ...tail(stage.record.entries));
  } finally {
    await stage.close();
  }
  const faults = schemas.check(stage.record.entries);
  const messages = stage.record.entries.filter(({ from }) => from === 'server').length;
  lines.push(`       ${messages} messages of the server, ${faults.length} kinds of fault`);
  for (const fault of faults) lines.push(`FAULT  ${fault}`);
  console.log(lines.join('\n'));
  return { cells: [name, version, by], worked: worked && faults.length === 0, steps };
}

const tail = (entries) =>
  entries.slice(-8).map(({ from, message, raw }) => `  | ${from} ${(raw ?? JSON.stringify(message)).slice(0, 260)}`);

const codex = referenceExecutable();
if (!codex || !fs.existsSync(codex)) {
  console.error('the codex client is not installed: run `npm ci` in conformance/, or set REFERENCE_EXE');
  process.exit(2);
}
const schemas = await loadSchemas(writeSchema(codex, path.join(HERE, 'out', 'schema')));
const chosen = SESSIONS.filter(
  ({ name }) => values.only.length === 0 || values.only.some((text) => name.includes(text)),
);
const rows = [];
const left = [...chosen.entries()];
// Three at a time: most of what a replay does is to wait.
await Promise.all(
  [1, 2, 3].map(async () => {
    for (let next = left.shift(); next; next = left.shift()) rows[next[0]] = await replay(next[1], schemas);
  }),
);
const text = table(['client', 'version', 'replayed from'], rows);
console.log(`\n${text}`);
if (values.write) writeTable('replayed', text);
process.exit(rows.every(({ worked }) => worked) ? 0 : 1);
