// A model server that only streams: `node bench/model.mjs` prints its port and ends with its standard input.
// The last `bench:COUNT:GAP` in a request says how many deltas of 20 bytes to send, and how many ms apart (0: at once); with `:CALLS`
// behind it so many answers come before them that each only call `true`.
import http from 'node:http';

const DELTA = 'abcdefghijklmnopqrs ';
const BLOCK = 200;
const GAP_OF_BURST = 0;

const OUTPUT_MARK = '"function_call_output"';

const event = (type, members) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const texts = new Map();
let responses = 0;

/** The whole text of so many deltas, already in the form of a JSON string. */
function encodedText(count) {
  if (!texts.has(count)) texts.set(count, JSON.stringify(DELTA.repeat(count)));
  return texts.get(count);
}

const created = (id) =>
  event('response.created', {
    response: { id, object: 'response', created_at: 1700000000, model: 'bench', status: 'in_progress' },
  });

function completed(id, count) {
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 20 },
    output_tokens: count,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 100 + count,
  };
  return event('response.completed', {
    response: { id, object: 'response', created_at: 1700000000, status: 'completed', usage },
  });
}

/** A whole response that calls `true`, in a shell that reads no profile: what those of the host do is not measured. */
function encodeCall() {
  const number = String(++responses).padStart(8, '0');
  const id = `resp_${number}`;
  const text = JSON.stringify({ cmd: 'true', login: false });
  const item = { type: 'function_call', id: `fc_${number}`, call_id: `call_${number}`, name: 'exec_command' };
  const place = { item_id: item.id, output_index: 0 };
  return [
    created(id),
    event('response.output_item.added', { ...place, item: { ...item, status: 'in_progress', arguments: '' } }),
    event('response.function_call_arguments.delta', { ...place, delta: text }),
    event('response.function_call_arguments.done', { ...place, arguments: text }),
    event('response.output_item.done', { ...place, item: { ...item, status: 'completed', arguments: text } }),
    completed(id, 10),
  ].join('');
}

/** The frames of one response: what comes before the deltas, one delta, and what comes after them. */
function encode(count) {
  const number = String(++responses).padStart(8, '0');
  const id = `resp_${number}`;
  const item = { type: 'message', role: 'assistant', id: `msg_${number}` };
  const start = [
    created(id),
    event('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }),
  ];
  const delta = event('response.output_text.delta', {
    item_id: item.id,
    output_index: 0,
    content_index: 0,
    delta: DELTA,
  });
  const done = event('response.output_item.done', {
    output_index: 0,
    item: { ...item, status: 'completed', content: [{ type: 'output_text', text: '@', annotations: [] }] },
  }).replace('"@"', encodedText(count));
  return { start: start.join(''), delta, end: `${done}${completed(id, count)}` };
}

const openStream = (response) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });

async function stream(response, count, gap) {
  const { start, delta, end } = encode(count);
  openStream(response);
  if (gap === GAP_OF_BURST) await burst(response, start, Buffer.from(delta), count);
  else await paced(response, start, delta, count, gap);
  if (!response.destroyed) response.end(end);
}

async function burst(response, start, delta, count) {
  if (count <= BLOCK) {
    response.write(start + delta.toString().repeat(count));
    return;
  }
  response.write(start);
  const block = Buffer.concat(Array.from({ length: BLOCK }, () => delta));
  for (let left = count; left > 0 && !response.destroyed; left -= BLOCK) {
    const taken = response.write(left >= BLOCK ? block : block.subarray(0, left * delta.length));
    if (!taken) await writable(response);
  }
}

/** Resolves when the response takes more, or is gone. */
function writable(response) {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

/** Sends by the clock, not by adding up pauses: what is late does not make the rest later. */
function paced(response, start, delta, count, gap) {
  response.write(start);
  const begun = performance.now();
  return new Promise((resolve) => {
    let sent = 0;
    const next = () => {
      if (response.destroyed || sent === count) return resolve();
      response.write(delta);
      sent += 1;
      setTimeout(next, Math.max(0, begun + sent * gap - performance.now()));
    };
    next();
  });
}

/** Calls of the turn that the server has made already: their outputs stand behind the words of the user. */
function callsMade(body, from) {
  let made = 0;
  for (let at = body.indexOf(OUTPUT_MARK, from); at !== -1; at = body.indexOf(OUTPUT_MARK, at + 1)) made += 1;
  return made;
}

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const at = body.lastIndexOf('bench:');
    const [, count, gap, calls = 0] = /^bench:(\d+):(\d+)(?::(\d+))?/.exec(body.toString('latin1', at, at + 40)) ?? [];
    if (request.method !== 'POST' || at === -1 || count === undefined) {
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"error":{"message":"no bench:COUNT:GAP in it"}}');
      return;
    }
    if (callsMade(body, at) < Number(calls)) {
      openStream(response).end(encodeCall());
      return;
    }
    stream(response, Number(count), Number(gap)).catch(() => response.destroy());
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
