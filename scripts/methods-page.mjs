// The method reference as Markdown, from what is declared and from recorded exchanges.
import { describeProtocol } from '../src/cli/schemas/description.ts';
import { typeOf } from '../src/cli/schemas/typescript.ts';

const INTRODUCTION = `# Methods

Made by \`npm run docs\` from the declarations that requests are checked with, and from one recorded session; what is written here by hand is lost.
[protocol.md](protocol.md) tells what holds for all of them: once-only keys, sequence numbers, errors. Types are as in TypeScript: a member with
\`?\` may be left out, and \`null\` is then the same. \`heddle schema\` writes all of this for programs.

A method that is *experimental* needs the capability of that name, and so do the members that are named so. *Once-only*: it takes an \`idempotencyKey\`.
*Stop*: it is never queued and never refused for load.
`;

/** Longest type that stands in one line, in characters. */
const LINE = 110;
/** Longest example that is shown whole. */
const WHOLE = 420;

/** `exchanges`: as test/harness/exchange-record.ts keeps them. */
export function methodsPage(exchanges) {
  const description = describeProtocol({ isExperimental: true });
  const { requests, serverRequests, notifications, clientNotifications, definitions } = description;
  const named = namesUsed(definitions);
  const shared = [...definitions].filter(([name]) => named.has(name));
  const type = (name) => (named.has(name) ? name : shown(typeOf(definitions.get(name))));
  return [
    INTRODUCTION,
    '## What clients ask\n',
    ...requests.map((each) => requestPart(each, type, exchanges.requests[each.method], ['→', '←'])),
    '## What the server asks\n',
    ...serverRequests.map((each) => requestPart(each, type, exchanges.serverRequests[each.method], ['←', '→'])),
    '## What the server tells\n',
    ...notifications.map((each) => noticePart(each, type, exchanges.notifications[each.method], '←')),
    '## What clients tell\n',
    ...clientNotifications.map((each) => noticePart(each, type, undefined, '→')),
    '## Shared types\n',
    `\`\`\`ts\n${shared.map(([name, schema]) => `type ${name} = ${shown(typeOf(schema))};`).join('\n')}\n\`\`\`\n`,
  ].join('\n');
}

/** What other definitions lead to. */
function namesUsed(definitions) {
  const text = JSON.stringify([...definitions.values()]);
  return new Set([...text.matchAll(/"\$ref":"#\/definitions\/(\w+)"/g)].map(([, name]) => name));
}

function requestPart(request, type, exchange, [asks, answers]) {
  const types = `params: ${type(request.params)}\nresult: ${type(request.result)}`;
  const example = exchange && [
    `${asks} ${jsonLine({ method: request.method, ...(exchange.params === undefined ? {} : { params: exchange.params }) })}`,
    `${answers} ${jsonLine({ result: exchange.result })}`,
  ];
  return part(request.method, traits(request), types, example);
}

function noticePart(notice, type, params, tells) {
  const example = params && [`${tells} ${jsonLine({ method: notice.method, params })}`];
  return part(notice.method, notice.isExperimental ? ['experimental'] : [], `params: ${type(notice.params)}`, example);
}

function part(method, words, types, example) {
  const lines = [`### \`${method}\`\n`];
  if (words.length > 0) lines.push(`${words.join(', ')}.\n`);
  lines.push(`\`\`\`ts\n${types}\n\`\`\`\n`);
  if (example) lines.push(`\`\`\`\n${example.join('\n')}\n\`\`\`\n`);
  return lines.join('\n');
}

function traits({ needs, mutates, isStop, isExperimental, experimentalMembers }) {
  const members = experimentalMembers.map((member) => `\`${member}\``).join(' ');
  return [
    ...(needs === 'none' ? [] : [`needs \`${needs}\``]),
    ...(mutates ? ['once-only'] : []),
    ...(isStop ? ['stop'] : []),
    ...(isExperimental ? ['experimental'] : []),
    ...(members === '' ? [] : [`experimental members: ${members}`]),
  ];
}

/** The key of once-only requests is told once for all of them; what is short stands in one line. */
function shown(type) {
  let text = type
    .replace(/\n *idempotencyKey\?: string \| null;/g, '')
    .replaceAll('{ [member: string]: unknown }', '{}');
  for (let before; before !== text; ) {
    before = text;
    text = text.replace(/\{\n([^{}]*?)\n *\}/g, (whole, inner) => {
      const line = `{ ${inner
        .trim()
        .replace(/\s*\n\s*/g, ' ')
        .replace(/;$/, '')} }`;
      return line.length <= LINE ? line : whole;
    });
  }
  return text;
}

/** In one line; of a long one the outer parts only, with dots for the rest. */
function jsonLine(value) {
  const whole = JSON.stringify(value);
  if (whole.length <= WHOLE) return whole;
  for (const depth of [5, 4, 3]) {
    const line = outline(value, depth);
    if (line.length <= WHOLE) return line;
  }
  return outline(value, 2);
}

function outline(value, depth) {
  if (typeof value === 'string' && value.length > 80) return `${JSON.stringify(value.slice(0, 60)).slice(0, -1)}…"`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const entries = Object.entries(value);
  if (entries.length === 0) return open + close;
  if (depth === 0) return `${open}…${close}`;
  const inner = entries.map(([name, each]) => {
    const text = outline(each, depth - 1);
    return Array.isArray(value) ? text : `${JSON.stringify(name)}:${text}`;
  });
  return open + inner.join(',') + close;
}
