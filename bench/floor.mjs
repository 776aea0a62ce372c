// The least a Node server can do for these workloads: no store, no validation, canned frames around the model's deltas.
// node bench/floor.mjs --listen stdio://|ws://127.0.0.1:PORT [--durable], with MODEL_URL in the environment. Durable: each turn is
// appended to a file in HEDDLE_HOME and synced before its answer.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { parseArgs } from 'node:util';
import * as pty from '@lydell/node-pty';

const { values } = parseArgs({
  options: { listen: { type: 'string', default: 'stdio://' }, durable: { type: 'boolean', default: false } },
});
const journal = values.durable ? await fs.open(path.join(process.env.HEDDLE_HOME, 'journal'), 'a') : undefined;
const model = new URL(process.env.MODEL_URL ?? 'http://127.0.0.1:9');
const agent = new http.Agent({ keepAlive: true, maxSockets: 200 });
const audiences = new Map();
let nextId = 0;

const handlers = {
  initialize: () => ({ userAgent: 'floor/0.171.0', codexHome: '/', platformFamily: 'unix', platformOs: 'linux' }),
  'thread/start': (_params, send) => {
    const id = `thread-${++nextId}`;
    audiences.set(id, new Set([send]));
    return { thread: { id } };
  },
  'thread/resume': ({ threadId }, send) => {
    audiences.get(threadId).add(send);
    return { thread: { id: threadId } };
  },
  'thread/loaded/list': () => ({ data: [], nextCursor: null }),
  'turn/start': async ({ threadId, input }) => {
    const id = `turn-${++nextId}`;
    await journal?.write(`${JSON.stringify({ threadId, id, input })}\n`);
    await journal?.datasync();
    setImmediate(() => runTurn(threadId, id, [input[0].text]));
    return { turn: { id, status: 'inProgress', items: [] } };
  },
  'command/exec': exec,
  'command/exec/write': ({ processId, deltaBase64 }) => {
    commands.get(processId).write(Buffer.from(deltaBase64, 'base64'));
    return {};
  },
  'command/exec/terminate': ({ processId }) => {
    commands.get(processId).end();
    return {};
  },
  'fs/getMetadata': async ({ path }) => {
    const stat = await fs.stat(path);
    return {
      isDirectory: stat.isDirectory(),
      isFile: stat.isFile(),
      isSymlink: false,
      createdAtMs: 0,
      modifiedAtMs: stat.mtimeMs,
    };
  },
};

/** By process id, what takes its input and what ends it. */
const commands = new Map();

async function exec({ command: [program, ...args], processId, tty, streamStdoutStderr }, send) {
  const prefix = `{"method":"command/exec/outputDelta","params":{"processId":"${processId}","stream":"stdout","deltaBase64":"`;
  const show = (chunk) =>
    send(
      Buffer.from(`${prefix}${chunk.toString('base64')}","capReached":false},"emittedAtMs":${Date.now()}}`, 'latin1'),
    );
  if (tty) {
    const terminal = pty.spawn(program, args, { encoding: null });
    terminal.onData(show);
    commands.set(processId, { write: (bytes) => terminal.write(bytes), end: () => terminal.kill('SIGKILL') });
    return new Promise((resolve) => terminal.onExit(({ exitCode }) => resolve({ exitCode, stdout: '', stderr: '' })));
  }
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const kept = [];
  child.stdout.on('data', streamStdoutStderr ? show : (chunk) => kept.push(chunk));
  child.stderr.resume();
  const [exitCode] = await once(child, 'close');
  return { exitCode, stdout: Buffer.concat(kept).toString(), stderr: '' };
}

/** Runs the command of a call that the model has made. */
async function output({ call_id, arguments: text }) {
  const child = spawn('/bin/bash', ['-c', JSON.parse(text).cmd], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let read = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      read += chunk;
    });
  }
  const [exitCode] = await once(child, 'close');
  return { type: 'function_call_output', call_id, exitCode, output: read };
}

function runTurn(threadId, turnId, input) {
  const audience = audiences.get(threadId);
  const prefix = `{"method":"item/agentMessage/delta","params":{"threadId":"${threadId}","turnId":"${turnId}","itemId":"i","delta":`;
  const publish = (frame) => {
    const bytes = Buffer.from(frame);
    for (const send of audience) send(bytes);
  };
  const note = (method, more) => publish(JSON.stringify({ method, params: { threadId, ...more } }));
  const done = () => note('turn/completed', { turn: { id: turnId, status: 'completed', items: [] } });
  const answerCall = async (call, context) => {
    const item = { type: 'commandExecution', id: call.call_id, command: call.arguments };
    note('item/started', { turnId, item: { ...item, status: 'inProgress', exitCode: null } });
    const { exitCode, ...made } = await output(call);
    note('item/completed', { turnId, item: { ...item, status: 'completed', exitCode } });
    ask([...context, call, made]);
  };
  const ask = (context) => {
    const request = http.request(new URL('responses', model), { method: 'POST', agent }, (response) =>
      readAnswer(response, publish, prefix, (call) => (call ? answerCall(call, context) : done())),
    );
    request.on('error', done);
    request.end(JSON.stringify({ input: context }));
  };
  note('turn/started', { turn: { id: turnId, status: 'inProgress', items: [] } });
  ask(input);
}

/** Passes the deltas on; `ended` is given the call with which the answer ends, if it does. */
function readAnswer(response, publish, prefix, ended) {
  let rest = '';
  let call;
  response.setEncoding('utf8');
  response.on('data', (chunk) => {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const data = () => JSON.parse(event.slice(event.indexOf('\ndata: ') + 7));
      if (event.startsWith('event: response.output_text.delta'))
        publish(`${prefix}${JSON.stringify(data().delta)}},"emittedAtMs":${Date.now()}}`);
      else if (event.startsWith('event: response.output_item.done') && event.includes('"function_call"'))
        call = data().item;
    }
  });
  response.on('end', () => ended(call));
}

async function receive(frame, send) {
  const { id, method, params } = JSON.parse(frame);
  if (id === undefined) return;
  if (method === 'fs/readFile') {
    const dataBase64 = (await fs.readFile(params.path)).toString('base64');
    send(Buffer.from(`{"id":${JSON.stringify(id)},"result":{"dataBase64":"${dataBase64}"}}`, 'latin1'));
    return;
  }
  const result = await handlers[method](params, send);
  send(Buffer.from(JSON.stringify({ id, result })));
}

/** Joins all that is sent in one tick into one write. */
function corked(stream) {
  let open = false;
  return () => {
    if (open) return;
    open = true;
    stream.cork();
    process.nextTick(() => {
      open = false;
      stream.uncork();
    });
  };
}

if (values.listen === 'stdio://') {
  const cork = corked(process.stdout);
  const send = (bytes) => {
    cork();
    process.stdout.write(bytes);
    process.stdout.write('\n');
  };
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) receive(line, send);
  });
} else {
  const { WebSocketServer } = await import('ws');
  const { hostname, port } = new URL(values.listen);
  const server = http.createServer((_request, response) => response.writeHead(200).end());
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket, request) => {
    const cork = corked(request.socket);
    const send = (bytes) => {
      cork();
      socket.send(bytes, { binary: false });
    };
    socket.on('message', (data) => receive(data.toString(), send));
    socket.on('close', () => {
      for (const audience of audiences.values()) audience.delete(send);
    });
  });
  server.listen(Number(port), hostname);
}
