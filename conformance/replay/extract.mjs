// Makes a script to replay from a recording of a client: what it started and sent, what it had seen by then, and where in the
// answers each id came from that it sent back. node conformance/replay/extract.mjs RECORDING.jsonl > recordings/NAME.jsonl
import fs from 'node:fs';

/** What a client may have waited for; all else that a server sends is only read. */
const LANDMARKS = new Set(['turn/started', 'turn/completed']);

const entries = fs
  .readFileSync(process.argv[2], 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line));
const runs = new Map();
for (const entry of entries) runs.set(entry.conn, [...(runs.get(entry.conn) ?? []), entry]);

/** Where ids are in what a server has answered: the text, and the path to it. */
function* ids(value, path) {
  if (typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value)) yield [value, path];
  else if (value !== null && typeof value === 'object')
    for (const [key, below] of Object.entries(value)) yield* ids(below, [...path, key]);
}

/** The words of long prompts and of their schemas are the client's own; their size and form are what counts. */
function plain(key, value) {
  const cut = key === 'text' && /… <(\d+) chars>$/.exec(value);
  if (cut) return 'a long prompt '.padEnd(Number(cut[1]), '.');
  if (key !== 'outputSchema' || !value?.properties) return value;
  const name = Object.keys(value.properties)[0];
  return { ...value, required: [name], properties: { [name]: { type: 'string' } } };
}

function scriptOf(run) {
  const argv = run.find(({ dir }) => dir === 'meta')?.msg.argv;
  const lines = [{ argv }];
  const names = new Map();
  const sentIn = (value) => run.some(({ dir, msg }) => dir === 'c2s' && JSON.stringify(msg).includes(`"${value}"`));
  let questions = 0;
  const asked = new Map();
  for (const { dir, msg } of run) {
    if (dir === 's2c' && msg.id === undefined && msg.method === undefined) continue;
    if (dir === 's2c' && msg.method === undefined) {
      const binds = {};
      for (const [value, path] of ids(msg.result, [])) {
        if (names.has(value) || !sentIn(value)) continue;
        names.set(value, `<id ${names.size + 1}>`);
        binds[names.get(value)] = path.join('.');
      }
      lines.push({ await: 'answer', of: msg.id, ...(Object.keys(binds).length > 0 ? { binds } : {}) });
    } else if (dir === 's2c' && msg.id !== undefined) {
      asked.set(msg.id, questions++);
      lines.push({ await: msg.method });
    } else if (dir === 's2c' && LANDMARKS.has(msg.method)) lines.push({ await: msg.method });
    else if (dir === 'c2s' && msg.method === undefined) {
      const { id, ...rest } = msg;
      lines.push({ reply: asked.get(id), message: rest });
    } else if (dir === 'c2s') {
      let text = JSON.stringify(msg);
      for (const [value, name] of names) text = text.replaceAll(value, name);
      lines.push({ send: JSON.parse(text, plain) });
    } else if (dir === 'meta' && msg.stdin === 'end') lines.push({ end: true });
    else if (dir === 'meta' && msg.gotSignal) lines.push({ signal: msg.gotSignal });
  }
  return lines;
}

const seen = new Set();
for (const run of runs.values()) {
  const lines = scriptOf(run)
    .map((line) => JSON.stringify(line))
    .join('\n');
  // A client that asks for the version a dozen times is replayed once.
  if (!seen.has(lines)) console.log(lines);
  seen.add(lines);
}
