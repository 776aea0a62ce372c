// The servers under measurement: how each is configured, started in a clean environment, and ended.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { referenceExecutable } from '../conformance/reference.mjs';
import { overStdio } from './client.mjs';

const BENCH = path.dirname(fileURLToPath(import.meta.url));
const ENTRY = path.join(process.env.OURS ?? path.join(BENCH, '..'), 'bin', 'heddle.js');

/** By name: `missing` says why it cannot run here; `launch` gives file and arguments; `configure` fills a new data directory. */
const KINDS = {
  floor: {
    missing: () => undefined,
    launch: (listen) => [process.execPath, [path.join(BENCH, 'floor.mjs'), '--listen', listen]],
    configure: () => {},
  },
  reference: {
    missing: () =>
      fs.existsSync(referenceExecutable() ?? '') ? undefined : 'run `npm ci` in conformance/, or set REFERENCE_EXE',
    launch: (listen) => [referenceExecutable(), ['app-server', '--listen', listen]],
    configure: (data, modelUrl) =>
      fs.writeFileSync(
        path.join(data, 'config.toml'),
        `model = "gpt-5.5"\nmodel_provider = "bench"\n\n[model_providers.bench]\nname = "Bench"\nbase_url = "${modelUrl}"\nwire_api = "responses"\n`,
      ),
  },
  heddle: {
    missing: () => (fs.existsSync(ENTRY) ? undefined : 'build it first: npm run build'),
    launch: (listen) => {
      const auth = listen.startsWith('ws://') ? ['--ws-auth', 'none'] : [];
      return [process.execPath, [ENTRY, 'app-server', '--backend', 'runtime', '--listen', listen, ...auth]];
    },
    configure: (data, modelUrl) =>
      fs.writeFileSync(
        path.join(data, 'config.yaml'),
        `backend: runtime\nmodel: gpt-5.5\nmodel_provider: bench\nmodel_providers:\n  bench:\n    name: Bench\n    base_url: ${modelUrl}\n    wire_api: responses\n`,
      ),
  },
};

export const targetNames = Object.keys(KINDS);

const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function start(file, args, options) {
  const child = spawn(file, args, options);
  running.add(child);
  child.ended = new Promise((resolve) => {
    child.on('close', () => {
      running.delete(child);
      resolve(true);
    });
    child.on('error', () => resolve(true));
  });
  return child;
}

async function end(child, signal = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  if (await Promise.race([child.ended, pause(5_000)])) return;
  child.kill('SIGKILL');
  await child.ended;
}

/** The model server, in a process of its own: `{ url, close }`. */
export async function startModel(scratch) {
  const child = start(process.execPath, [path.join(BENCH, 'model.mjs')], {
    cwd: scratch,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [port] = await new Promise((resolve, reject) => {
    child.stdout.once('data', (chunk) => resolve(chunk.toString().split('\n')));
    child.ended.then(() => reject(new Error('the model server ended at once')));
  });
  return { url: `http://127.0.0.1:${port}/v1/`, close: () => end(child) };
}

export class Target {
  #kind;
  #scratch;
  #modelUrl;
  #args;
  #places = 0;
  #server;

  /** `args` go to the server besides its own. */
  constructor(name, scratch, modelUrl, args = []) {
    this.name = name;
    this.#kind = KINDS[name];
    this.#scratch = path.join(scratch, name);
    this.#modelUrl = modelUrl;
    this.#args = args;
    this.workspace = path.join(this.#scratch, 'workspace');
    fs.mkdirSync(this.workspace, { recursive: true });
  }

  get missing() {
    return this.#kind.missing();
  }

  /** A new configured data directory. */
  newData() {
    const data = path.join(this.#scratch, `data-${++this.#places}`);
    fs.mkdirSync(data, { recursive: true, mode: 0o700 });
    this.#kind.configure(data, this.#modelUrl.replace(/\/$/, ''));
    return data;
  }

  #spawn(listen, data, stdio) {
    const home = path.join(this.#scratch, 'home');
    fs.mkdirSync(home, { recursive: true });
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      TMPDIR: this.#scratch,
      LANG: 'C.UTF-8',
      SHELL: '/bin/bash',
      CODEX_HOME: data,
      HEDDLE_HOME: data,
      MODEL_URL: this.#modelUrl,
    };
    const [file, args] = this.#kind.launch(listen);
    return start(file, [...args, ...this.#args], { cwd: this.workspace, env, stdio });
  }

  /** A server on standard streams that has not been spoken to: `{ client, pid, close }`. */
  startStdio(data) {
    const child = this.#spawn('stdio://', data, ['pipe', 'pipe', 'ignore']);
    return {
      client: overStdio(child),
      pid: child.pid,
      async close() {
        child.stdin.end();
        if (!(await Promise.race([child.ended, pause(3_000)]))) await end(child, 'SIGKILL');
      },
    };
  }

  /** A WebSocket server that listens: `{ url, pid, close }`. */
  async startWebSocket(data = this.newData()) {
    const port = await freePort();
    const child = this.#spawn(`ws://127.0.0.1:${port}`, data, ['ignore', 'ignore', 'pipe']);
    let output = '';
    child.stderr.on('data', (chunk) => {
      output = (output + chunk).slice(-2_000);
    });
    for (const limit = Date.now() + 20_000; (await status(port)) !== 200; await pause(20)) {
      if (child.exitCode !== null || Date.now() > limit) {
        await end(child, 'SIGKILL');
        throw new Error(`${this.name} does not listen; it wrote: ${output.trim()}`);
      }
    }
    return { url: `ws://127.0.0.1:${port}`, pid: child.pid, child, close: () => end(child) };
  }

  /** The WebSocket server that lives as long as the run, warm after its first row; started anew should it have ended. */
  async server() {
    if (!this.#server || this.#server.child.exitCode !== null || this.#server.child.signalCode !== null) {
      this.#server = await this.startWebSocket();
    }
    return this.#server;
  }

  async close() {
    await this.#server?.close();
  }
}

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function status(port) {
  return new Promise((resolve) => {
    const request = http.get({ host: '127.0.0.1', port, path: '/readyz', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', () => resolve(undefined));
  });
}
