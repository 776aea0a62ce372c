// npm start: from a clone to a running server in one command, and a turn with an approval to show that it works.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build, install, ROOT } from './setup.mjs';

install();
build();

const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
const isColoured = process.stdout.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
const paint = (code, text) => (isColoured ? `\u001b[${code}m${text}\u001b[0m` : text);
const say = (text = '') => console.log(text);
const step = (text) => say(`\n${paint(1, text)}`);
const detail = (text) => say(paint(2, `  ${text}`));

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'heddle-start-'));
const workspace = path.join(scratch, 'workspace');
const data = path.join(scratch, 'data');
fs.mkdirSync(workspace);
process.once('exit', () => fs.rmSync(scratch, { recursive: true, force: true }));

/** Starts the server; resolves with its address and the file of its token once it listens. */
function startServer() {
  const args = ['bin/heddle.js', 'app-server', '--backend', 'mock', '--listen', 'ws://127.0.0.1:0', '--data-dir', data];
  // A group of its own: Ctrl-C is for this script, which then ends the server in order.
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  let output = '';
  const listening = new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output += text;
      const address = /listening on: (\S+)/.exec(output)?.[1];
      const tokenFile = /token file: (.+)\n/.exec(output)?.[1];
      if (address && tokenFile) resolve({ address, tokenFile });
    });
    ended.then(() => reject(new Error(`the server did not start:\n${output}`)));
  });
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  return { listening, stop, ended, pid: child.pid };
}

/** A client of some forty lines: the protocol needs no library. */
async function connectClient({ address, tokenFile }, onMessage) {
  const { WebSocket } = await import('ws');
  const token = fs.readFileSync(tokenFile, 'utf8').trim();
  const socket = new WebSocket(address, { headers: { authorization: `Bearer ${token}` }, perMessageDeflate: false });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const waiting = new Map();
  let nextId = 1;
  const send = (message) => socket.send(JSON.stringify(message));
  socket.on('message', (data) => {
    const message = JSON.parse(data.toString());
    if (message.method !== undefined) onMessage(message, send);
    else {
      const { resolve, reject } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
    }
  });
  socket.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the connection closed'));
  });
  const request = (method, params) =>
    new Promise((resolve, reject) => {
      const id = nextId++;
      waiting.set(id, { resolve, reject });
      send({ id, method, params });
    });
  return { request, send, close: () => socket.close() };
}

const PROMPT = [
  'say I am the mock model: no key needed. First a command inside the sandbox, then one that asks to leave it.',
  'run echo "written by a sandboxed command" > note.txt && cat note.txt',
  '',
  'run! ls -la note.txt',
  '',
  'say Both ran, and every step of it is on disk.',
].join('\n');

/** Resolves with how the turn ended; prints what the server tells on the way there. */
async function runTurn(endpoint) {
  let ended;
  const completed = new Promise((resolve) => {
    ended = resolve;
  });
  const client = await connectClient(endpoint, ({ id, method, params }, send) => {
    if (method === 'item/agentMessage/delta') process.stdout.write(params.delta);
    else if (method === 'item/commandExecution/outputDelta') process.stdout.write(paint(2, params.delta));
    else if (method === 'item/started' && params.item.type === 'agentMessage') process.stdout.write('  ');
    else if (method === 'item/completed' && params.item.type === 'agentMessage') say();
    else if (method === 'item/started' && params.item.type === 'commandExecution')
      say(paint(36, `  $ ${params.item.command}`));
    else if (method === 'item/commandExecution/requestApproval') {
      say(paint(33, `  approval asked for: ${params.command}`));
      detail('it would run outside the sandbox; this demo accepts, a client would ask its user');
      send({ id, result: { decision: 'accept' } });
    } else if (id !== undefined) send({ id, error: { code: -32601, message: 'not in this demo' } });
    else if (method === 'turn/completed') ended(params.turn);
  });
  const { userAgent } = await client.request('initialize', { clientInfo: { name: 'npm_start', version: '1' } });
  client.send({ method: 'initialized' });
  detail(`connected; the server is ${userAgent.split(' ').at(-1)}`);
  const { thread } = await client.request('thread/start', { cwd: workspace, sandbox: 'workspace-write' });
  detail(`thread ${thread.id}`);
  await client.request('turn/start', {
    threadId: thread.id,
    input: [{ type: 'text', text: PROMPT, text_elements: [] }],
  });
  const turn = await completed;
  client.close();
  return turn;
}

function explain({ address, tokenFile }) {
  step('Connect your own client');
  say(`  address:     ${address}`);
  say(`  token file:  ${tokenFile}   (send it as \`Authorization: Bearer …\`)`);
  say(`  one turn:    node bin/heddle.js exec "say hello" --data-dir ${data}`);
  say('  your model:  node bin/heddle.js app-server --backend runtime --listen ws://127.0.0.1:4500');
  say('               (needs a provider in config.yaml, see README.md)');
  say('  as a child:  node bin/heddle.js app-server --backend mock   (JSON lines on standard input and output)');
}

async function main() {
  step('1  A server on a WebSocket of this machine');
  const server = startServer();
  const interrupted = new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, resolve);
  });
  try {
    const endpoint = await server.listening;
    detail(`pid ${server.pid}, ${endpoint.address}, data in ${data}`);
    step('2  A client runs a turn over it, with a command and an approval');
    const turn = await Promise.race([
      runTurn(endpoint),
      interrupted.then(() => ({ status: 'cut short' })),
      server.ended.then(() => ({ status: 'over, because the server ended' })),
    ]);
    detail(`turn ${turn.status}`);
    if (turn.status !== 'completed') return 1;
    explain(endpoint);
    if (!isTerminal) {
      step('There is no terminal to stay for, so this one ends now');
      return 0;
    }
    step('The server runs until Ctrl-C');
    await Promise.race([interrupted, server.ended]);
    say();
    return 0;
  } finally {
    await server.stop();
    detail('server stopped, scratch folder removed');
  }
}

main().then(
  (code) => process.exit(code),
  (error) => {
    console.error(error.message);
    process.exit(1);
  },
);
