// What was recorded of Heddle, held against the schema that Heddle writes down.
import fs from 'node:fs';
import path from 'node:path';
import Ajv from 'ajv';

/** `lines` tells what does not fit, once each; `folder` holds transcripts, or is not there. */
export function misfits(ours, folder) {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema({ ...ours, messages: undefined }, 'protocol');
  const validators = new Map();
  const fits = (name, value) => {
    if (!validators.has(name)) validators.set(name, ajv.compile({ $ref: `protocol#/definitions/${name}` }));
    return validators.get(name)(value) ? undefined : validators.get(name).errors[0];
  };
  const tables = Object.fromEntries(
    Object.entries(ours.messages).map(([kind, list]) => [kind, new Map(list.map((each) => [each.method, each]))]),
  );

  const lines = new Set();
  let checked = 0;
  for (const entry of fs.existsSync(folder) ? entriesOf(folder) : []) {
    const [what, name, value] = shapeOf(entry, tables);
    if (what === undefined) continue;
    checked += 1;
    const fault = name === undefined ? { message: 'is not declared' } : fits(name, value);
    if (fault) lines.add(`${what}: ${fault.instancePath ?? ''} ${fault.message}`);
  }
  return { checked, lines: [...lines].sort() };
}

function* entriesOf(folder) {
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith('.jsonl')))
    for (const line of fs.readFileSync(path.join(folder, file), 'utf8').split('\n'))
      if (line !== '') yield JSON.parse(line);
}

/** What the server sent: its name, that of its definition, and the value. */
function shapeOf({ lane, notice, request, answer, params, result }, { requests, notifications, serverRequests }) {
  if (lane === undefined) return [];
  // Transcripts join the pieces of a text, and so have no single one of them.
  if (notice?.toLowerCase().endsWith('delta')) return [];
  if (notice !== undefined) return [`params of ${notice}`, notifications.get(notice)?.params, params];
  if (request !== undefined) return [`params of ${request}`, serverRequests.get(request)?.params, params];
  if (result === undefined || !requests.has(answer)) return [];
  return [`result of ${answer}`, requests.get(answer).result, result];
}
