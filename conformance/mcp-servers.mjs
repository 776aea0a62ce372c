// Real MCP servers from npm (filesystem, memory, everything), unchanged: called directly and by turns, over stdio and HTTP.
// Exit code 1 when a step fails.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort, get } from './kit/context.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const HEDDLE = path.join(process.env.OURS ?? path.join(HERE, '..'), 'bin', 'heddle.js');
const LIMIT_MS = 90_000;

const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-servers-')));
const data = path.join(folder, 'data');
const files = path.join(folder, 'files');
for (const each of [data, files]) fs.mkdirSync(each);
fs.writeFileSync(path.join(files, 'note.txt'), 'a note\n');

const entry = (name) => path.join(HERE, 'node_modules/@modelcontextprotocol', `server-${name}`, 'dist', 'index.js');
const program = (name, ...args) => ({ command: process.execPath, args: [entry(name), ...args] });

/** The server `everything` at an address. */
async function startFar(port) {
  const child = spawn(process.execPath, [entry('everything'), 'streamableHttp'], {
    env: { PATH: process.env.PATH, HOME: folder, PORT: String(port) },
    stdio: 'ignore',
  });
  const end = Date.now() + LIMIT_MS;
  while ((await get(port, '/mcp')).status === undefined) {
    assert.ok(child.exitCode === null && Date.now() < end, 'the server at an address is not there');
    await pause(50);
  }
  return child;
}

const stopped = (child) => new Promise((resolve) => child.once('exit', resolve).kill('SIGKILL'));

function startHeddle() {
  const child = spawn(process.execPath, [HEDDLE, 'app-server', '--backend', 'mock', '--data-dir', data], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const seen = [];
  const waiting = new Set();
  createInterface({ input: child.stdout }).on('line', (line) => {
    seen.push(JSON.parse(line));
    for (const look of waiting) look();
  });
  /** The first message from place `from` on that fits. */
  const message = (fits, from = 0) =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('it did not come in time')), LIMIT_MS);
      const look = () => {
        const found = seen.slice(from).find(fits);
        if (!found) return;
        waiting.delete(look);
        clearTimeout(late);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  let last = 0;
  const post = (frame) => child.stdin.write(`${JSON.stringify(frame)}\n`);
  const request = async (method, params = {}) => {
    const id = ++last;
    post({ id, method, params });
    const answer = await message((each) => each.id === id && each.method === undefined);
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  };
  const close = () => new Promise((resolve) => child.once('exit', resolve).stdin.end());
  return { seen, message, post, request, close };
}

let failures = 0;
async function step(name, work) {
  try {
    await work();
    console.log(`ok     ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED ${name}: ${error.message.split('\n')[0]}`);
  }
}

const port = await freePort();
let far = await startFar(port);
const servers = {
  filesystem: program('filesystem', files),
  memory: { ...program('memory'), env: { MEMORY_FILE_PATH: path.join(folder, 'memory.jsonl') } },
  everything: program('everything'),
  far: { url: `http://127.0.0.1:${port}/mcp` },
};
fs.writeFileSync(path.join(data, 'config.yaml'), JSON.stringify({ mcp_servers: servers }));
const heddle = startHeddle();
const { request, message, seen } = heddle;
const capabilities = { experimentalApi: true };
await request('initialize', { clientInfo: { name: 'mcp-servers', title: null, version: '1' }, capabilities });
heddle.post({ method: 'initialized' });
const settings = { cwd: files, approvalPolicy: 'never', sandbox: 'danger-full-access' };
const threadId = (await request('thread/start', settings)).thread.id;

const STATUS = 'mcpServer/startupStatus/updated';
const call = (server, tool, given = {}) => request('mcpServer/tool/call', { threadId, server, tool, arguments: given });
const text = ({ content }) => content.map((part) => part.text ?? '').join('\n');
const offered = {};

/** Runs a turn in which the model makes the calls; gives their items. */
async function turn(...calls) {
  const from = seen.length;
  const script = calls.map(([name, given]) => `call ${name} ${JSON.stringify(given)}`).join('\n\n');
  const { turn: begun } = await request('turn/start', { threadId, input: [{ type: 'text', text: script }] });
  await message((each) => each.method === 'turn/completed' && each.params.turn.id === begun.id, from);
  const items = seen.slice(from).flatMap((each) => (each.method === 'item/completed' ? [each.params.item] : []));
  return items.filter(({ type }) => type === 'mcpToolCall');
}

for (const name of Object.keys(servers))
  await step(`${name} is connected`, async () => {
    await message(({ method, params }) => method === STATUS && params.name === name && params.status === 'ready');
    const {
      data: [status],
    } = await request('mcpServerStatus/list', { threadId, serverName: name });
    assert.equal(status.runtimeStatus, 'connected');
    offered[name] = Object.keys(status.tools);
    assert.ok(offered[name].length > 3);
  });

await step('filesystem: a file is read and written, and what lies outside is refused', async () => {
  assert.match(text(await call('filesystem', 'read_text_file', { path: path.join(files, 'note.txt') })), /a note/);
  await call('filesystem', 'write_file', { path: path.join(files, 'new.txt'), content: 'written' });
  assert.equal(fs.readFileSync(path.join(files, 'new.txt'), 'utf8'), 'written');
  assert.equal((await call('filesystem', 'read_text_file', { path: '/etc/passwd' })).isError, true);
});

await step('memory: what is told is remembered', async () => {
  const entities = [{ name: 'Ann', entityType: 'person', observations: ['likes looms'] }];
  await call('memory', 'create_entities', { entities });
  assert.match(text(await call('memory', 'search_nodes', { query: 'looms' })), /Ann/);
});

for (const name of ['everything', 'far']) {
  const long = () => offered[name].find((tool) => /long-?running/i.test(tool));
  await step(`${name}: an echo, an image, and progress of a long call`, async () => {
    assert.match(text(await call(name, 'echo', { message: 'hello' })), /hello/);
    const image = offered[name].find((tool) => /tiny-?image/i.test(tool));
    assert.ok(
      (await call(name, image)).content.some(({ type, mimeType }) => type === 'image' && mimeType === 'image/png'),
    );
    const from = seen.length;
    const [item] = await turn([`mcp__${name}__${long()}`, { duration: 1, steps: 2 }]);
    assert.equal(item.status, 'completed');
    const steps = seen.slice(from).filter(({ method }) => method === 'item/mcpToolCall/progress');
    assert.equal(steps.length, 2);
  });

  await step(`${name}: resources are listed and read, directly and by the model`, async () => {
    const {
      data: [status],
    } = await request('mcpServerStatus/list', { threadId, serverName: name });
    assert.ok(status.resources.length > 0 && status.resourceTemplates.length > 0);
    const { uri } = status.resources[0];
    const { contents } = await request('mcpServer/resource/read', { threadId, server: name, uri });
    assert.equal(contents[0].uri, uri);
    const [list, read] = await turn(
      ['list_mcp_resources', { server: name }],
      ['read_mcp_resource', { server: name, uri }],
    );
    assert.equal(JSON.parse(list.result.content[0].text).server, name);
    assert.equal(JSON.parse(read.result.content[0].text).contents[0].uri, uri);
  });
}

await step('one turn calls all four', async () => {
  const items = await turn(
    ['mcp__filesystem__list_directory', { path: files }],
    ['mcp__memory__read_graph', {}],
    ['mcp__everything__echo', { message: 'near' }],
    ['mcp__far__echo', { message: 'from afar' }],
  );
  assert.deepEqual(
    items.map(({ status }) => status),
    Array(4).fill('completed'),
  );
  assert.match(JSON.stringify(items[0].result), /note\.txt/);
  assert.match(JSON.stringify(items[1].result), /Ann/);
  assert.match(JSON.stringify(items[3].result), /from afar/);
});

await step('a call without a thread of its own servers: resources over the shared connection', async () => {
  const { data: all } = await request('mcpServerStatus/list', { serverName: 'everything' });
  const { uri } = all[0].resources[0];
  assert.equal((await request('mcpServer/resource/read', { server: 'everything', uri })).contents[0].uri, uri);
});

await step('the server at an address dies, is a state, and is used again when it is back', async () => {
  await stopped(far);
  const from = seen.length;
  await assert.rejects(call('far', 'echo', { message: 'x' }));
  far = await startFar(port);
  const answer = await call('far', 'echo', { message: 'again' }).catch(() => call('far', 'echo', { message: 'again' }));
  assert.match(text(answer), /again/);
  await message(({ method, params }) => method === STATUS && params.name === 'far' && params.status === 'ready', from);
});

await heddle.close();
await stopped(far);
fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
console.log(failures === 0 ? '\nall real MCP servers do what they should' : `\n${failures} steps failed`);
process.exit(failures === 0 ? 0 : 1);
