// An MCP server of the worst kind, over stdio and without a library; its argument says how it behaves.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const manner = process.argv[2] ?? 'good';
const raw = (text) => writeSync(1, text);
const say = (message) => raw(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const tool = (name, more = {}) => ({
  name,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
  ...more,
});
const TOOLS = {
  good: [
    'work',
    'hang',
    'die',
    'deep',
    'flood',
    'image',
    'progress',
    'wrong',
    'count',
    'twice',
    'environment',
    'nag',
  ].map((name) => tool(name)),
  many: Array.from({ length: 5_000 }, (_, at) => tool(at < 2_500 ? 'same' : `tool.${at}`)),
  wordy: Array.from({ length: 900 }, (_, at) => tool(`tool-${at}`, { description: 'w'.repeat(5_000) })),
  swells: [tool('swell')],
  grows: [tool('first')],
  visits: [tool('visit'), tool('finish'), tool('die'), tool('visit-script')],
  asks: [
    ...['ask-and-die', 'ask-deaf', 'ask', 'ask-nobody', 'ask-at-a-sign', 'ask-and-withdraw', 'withdraw'].map((name) =>
      tool(name),
    ),
    tool('write', { annotations: { destructiveHint: true } }),
  ],
};
let tools = TOOLS[manner] ?? TOOLS.good;
let cancelled = 0;
let made = 0;
/** By the id of what it asks. */
const answers = new Map();
const text = (value) => ({ content: [{ type: 'text', text: value }] });

if (manner === 'banner') raw('Welcome to the server!\n\u0000{"broken\n[1,2]\n{"jsonrpc":"1.0"}\n');
if (manner === 'stderr') {
  for (let at = 0; at < 160; at++) writeSync(2, 'x'.repeat(65_536));
}
if (manner === 'child') spawn('sleep', ['600'], { stdio: 'ignore' });
if (manner === 'endless') for (;;) raw('x'.repeat(65_536));
if (manner === 'closed') closeSync(1);

const ANSWERS = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: manner, version: '1' },
  }),
  'tools/list': () => ({ tools }),
  ping: () => ({}),
};

const ask = () => {
  const params = { message: 'What is your name?', requestedSchema: { type: 'object', properties: {} } };
  say({ id: 'asked', method: 'elicitation/create', params });
};

/** Asks for what is given, and does with the answer what is said. */
let forms = 0;
const askFor = (params, answered) => {
  const asked = `form-${++forms}`;
  say({ id: asked, method: 'elicitation/create', params });
  answers.set(asked, answered);
  return asked;
};
const formOf = ({ arguments: { message = 'Who?', schema } = {} }) => ({
  message,
  requestedSchema: schema ?? {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 1 } },
    required: ['name'],
  },
});
/** The request that is taken back by `withdraw`, and what is done then. */
let withdraw = () => {};

/** Asks people to go to an address, and answers the call with what they said. */
let visits = 0;
const visit = (id, url) => {
  const elicitationId = `visit-${++visits}`;
  const params = { mode: 'url', message: 'Sign in to see your tickets', url, elicitationId };
  say({ id: elicitationId, method: 'elicitation/create', params });
  answers.set(elicitationId, (answer) => say({ id, result: text(JSON.stringify(answer)) }));
};
const SIGN_IN = 'https://tickets.example/sign-in?state=1';

const CALLS = {
  visit: (id) => visit(id, SIGN_IN),
  'visit-script': (id) => visit(id, 'javascript:alert(1)'),
  finish: () => {
    for (const elicitationId of ['another', 'visit-1'])
      say({ method: 'notifications/elicitation/complete', params: { elicitationId } });
    return text('finished');
  },
  'ask-and-die': () => {
    ask();
    setTimeout(() => process.exit(3), 300);
  },
  'ask-deaf': () => ask(),
  ask: (id, params) => void askFor(formOf(params), (answer) => say({ id, result: text(JSON.stringify(answer)) })),
  // When it asks, nobody waits for anything of it.
  'ask-nobody': (_id, params) => {
    setTimeout(() => askFor(formOf(params), () => {}), 100);
    return text('later');
  },
  // Three questions once a file is there; the second is taken back when the first is answered.
  'ask-at-a-sign': (_id, params) => {
    const look = setInterval(() => {
      if (!existsSync(params.arguments.file)) return;
      clearInterval(look);
      const plain = (message) => ({ message, requestedSchema: { type: 'object', properties: {} } });
      let second = '';
      askFor(plain('First?'), () =>
        say({ method: 'notifications/cancelled', params: { requestId: second, reason: 'no longer needed' } }),
      );
      second = askFor(plain('Second?'), () => {});
      askFor(plain('Third?'), () => {});
    }, 20);
    return text('later');
  },
  'ask-and-withdraw': (id, params) => {
    const requestId = askFor(formOf(params), () => {});
    withdraw = () => {
      say({ method: 'notifications/cancelled', params: { requestId, reason: 'no longer needed' } });
      say({ id, result: text('withdrawn') });
    };
  },
  withdraw: () => {
    withdraw();
    return text('done');
  },
  hang: () => undefined,
  die: () => process.exit(3),
  deep: (id) =>
    void raw(
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}}\n`,
    ),
  flood: () => ({ content: Array.from({ length: 12 }, () => ({ type: 'text', text: 'y'.repeat(1_000_000) })) }),
  image: () => ({
    content: [
      { type: 'text', text: 'a dot' },
      {
        type: 'image',
        mimeType: 'image/png',
        data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      },
    ],
  }),
  progress: (_id, params) => {
    const progressToken = params._meta?.progressToken;
    for (const at of [1, 2])
      say({ method: 'notifications/progress', params: { progressToken, progress: at, message: `step ${at}` } });
    return text('done');
  },
  wrong: () => ({ content: 'not a list' }),
  count: () => text(`${made} made, ${cancelled} cancelled`),
  environment: () => text(JSON.stringify(process.env)),
  nag: (id) => {
    let [declined, left] = [0, 20];
    for (let at = 0; at < 20; at++) {
      const requestedSchema = { type: 'object', properties: {} };
      const asked = `question-${at}`;
      say({ id: asked, method: 'elicitation/create', params: { message: asked, requestedSchema } });
      answers.set(asked, ({ action }) => {
        if (action === 'decline') declined += 1;
        left -= 1;
        if (left === 0) say({ id, result: text(`${declined} declined`) });
      });
    }
  },
  twice: (id) => {
    say({ id: String(id), result: text('first') });
    say({ id, result: text('second') });
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  if (manner === 'mute') return;
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) return answers.get(id)?.(result);
  if (method === 'notifications/cancelled') cancelled += 1;
  if (manner === 'deaf' && (cancelled > 0 || method === 'ping')) return;
  if (id === undefined) return;
  if (manner === 'banner') raw('about to answer\n');
  if (method === 'tools/call') {
    made += 1;
    if (params.name === 'swell') {
      tools = TOOLS.wordy;
      say({ method: 'notifications/tools/list_changed' });
    }
    if (params.name === 'first') {
      tools = [tool('first'), tool('second')];
      say({ method: 'notifications/tools/list_changed' });
    }
    const given = CALLS[params.name] ? CALLS[params.name](id, params) : text('worked');
    if (given) say({ id, result: given });
    return;
  }
  if (method === 'resources/read') {
    const read = (answer) => say({ id, result: { contents: [{ uri: params.uri, text: JSON.stringify(answer) }] } });
    return void askFor(formOf({}), read);
  }
  const answer = ANSWERS[method];
  say(answer ? { id, result: answer() } : { id, error: { code: -32601, message: 'unknown' } });
});
process.stdin.on('end', () => manner !== 'deaf' && process.exit(0));
