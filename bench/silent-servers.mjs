// How long starts of threads and turns take beside MCP servers that never answer, and without them: figures, no verdict.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { quantile } from './meter.mjs';

const ROOT = process.env.OURS ?? fileURLToPath(new URL('..', import.meta.url));

const { values } = parseArgs({
  options: { threads: { type: 'string', default: '20' }, help: { type: 'boolean', default: false } },
});
const count = Number(values.threads);
if (values.help || !(count >= 1)) {
  console.log(
    'node bench/silent-servers.mjs [--threads N]   (default 20, half of them one after the other, half at once)',
  );
  process.exit(values.help ? 0 : 2);
}

const listening = async (server) => {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${server.address().port}/mcp`;
};

/** Five of them: programs that read and stay mute, an address that never answers, one that never ends its answer, one that never reads. */
async function silentServers() {
  const mute = http.createServer(() => {});
  const trickling = http.createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{');
  });
  const deaf = net.createServer((socket) => socket.pause().on('error', () => {}));
  const entries = {
    reader: { command: 'sh', args: ['-c', 'cat > /dev/null'] },
    sleeper: { command: 'sleep', args: ['600'] },
    mute: { url: await listening(mute) },
    trickling: { url: await listening(trickling) },
    deaf: { url: await listening(deaf) },
  };
  const close = () => {
    for (const server of [mute, trickling]) server.closeAllConnections();
    for (const server of [mute, trickling, deaf]) server.close().unref();
  };
  return { entries, close };
}

/** A server of its own on standard streams. */
function startServer(folder, mcpServers) {
  fs.writeFileSync(path.join(folder, 'config.yaml'), JSON.stringify({ mcp_servers: mcpServers }));
  const args = [path.join(ROOT, 'bin', 'heddle.js'), 'app-server', '--backend', 'mock', '--data-dir', folder];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    for (const each of waiting.filter(({ fits }) => fits(message))) {
      waiting.splice(waiting.indexOf(each), 1);
      each.resolve(message);
    }
  });
  const message = (fits) => new Promise((resolve) => waiting.push({ fits, resolve }));
  let last = 0;
  const request = (method, params) => {
    const id = ++last;
    child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    return message((each) => each.id === id && each.method === undefined).then((answer) => {
      if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
      return answer.result;
    });
  };
  const close = () => new Promise((resolve) => child.once('exit', resolve).stdin.end());
  return { child, request, message, close };
}

async function oneThread({ request, message }, cwd, times) {
  const timed = async (name, work) => {
    const before = performance.now();
    const result = await work();
    times[name].push(performance.now() - before);
    return result;
  };
  const { thread } = await timed('thread/start', () => request('thread/start', { cwd }));
  const over = message((each) => each.method === 'turn/completed' && each.params.threadId === thread.id);
  const input = [{ type: 'text', text: 'say hello' }];
  await timed('turn completed', async () => {
    await timed('turn/start', () => request('turn/start', { threadId: thread.id, input }));
    await over;
  });
}

async function measure(entries) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'heddle-silent-'));
  const server = startServer(folder, entries);
  const times = { 'thread/start': [], 'turn/start': [], 'turn completed': [] };
  try {
    await server.request('initialize', { clientInfo: { name: 'bench', title: null, version: '1' } });
    server.child.stdin.write('{"method":"initialized"}\n');
    const half = Math.ceil(count / 2);
    for (let at = 0; at < half; at += 1) await oneThread(server, folder, times);
    await Promise.all(Array.from({ length: count - half }, () => oneThread(server, folder, times)));
  } finally {
    await server.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
  return times;
}

const silent = await silentServers();
const rows = { without: await measure({}), 'with five': await measure(silent.entries) };
silent.close();
console.log(`${count} threads with a turn each, milliseconds (p50 / longest)`);
for (const [name, times] of Object.entries(rows)) {
  const shown = Object.entries(times).map(
    ([of, all]) => `${of} ${quantile(all, 0.5).toFixed(0)} / ${Math.max(...all).toFixed(0)}`,
  );
  console.log(`${name.padEnd(10)} ${shown.join('   ')}`);
}
process.exit(0);
