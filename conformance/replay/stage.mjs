// Where a replay happens: folders, a scripted model, and the program in the place of codex.
import { execFileSync, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { createConnection } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Client, Record, ServerProcess, stdioWire, webSocketWire } from '../kit/client.mjs';
import { freePort, get } from '../kit/context.mjs';
import { call, ModelServer, words } from '../kit/model.mjs';
import { askUser, command, escalated, mcpTool, patch, plan } from '../kit/steps.mjs';
import { demoMcpServer, Place, target } from '../kit/target.mjs';

export const MODEL = 'mock-model';
const QUESTION = {
  id: 'colour',
  header: 'Colour',
  question: 'Which colour?',
  options: [
    { label: 'Green', description: 'as grass' },
    { label: 'Blue', description: 'as the sky' },
  ],
};
const PERMISSIONS = { reason: 'to write there', permissions: { file_system: { write: ['/var/tmp/a-folder'] } } };

/** What the model does for a key word, until the first answer of a tool; the words are those of the recordings. */
const KEYWORDS = {
  KWSLOW: words(400, 60),
  KWESC: escalated('touch asked-for'),
  KWASK: askUser([QUESTION]),
  KWPLAN: plan({ plan: [{ step: 'look', status: 'in_progress' }] }),
  KWRUN: command('echo seen && sleep 0.2'),
  KWELICIT: mcpTool('demo', 'ask'),
  KWPERMIT: call('request_permissions', PERMISSIONS),
  KWTOOL: call('lookup_ticket', { id: 'T-1' }),
};

function keywordModel(patchFolder) {
  let files = 0;
  return async (reply, request) => {
    const text = request.userTexts.at(-1) ?? '';
    const structured = (request.body.text?.format ?? request.body.response_format)?.type === 'json_schema';
    if (structured) return reply.message('{"title":"Scripted","verdict":"ok"}');
    if (text.includes('KWTHINK') && !request.continues) await reply.reasoning([['thinking ', 'it over']]);
    if (request.continues) return reply.message(`Continued: ${text.slice(0, 40)} (done)`);
    const keyword = Object.keys(KEYWORDS).find((word) => text.includes(word));
    if (keyword) return KEYWORDS[keyword](reply, request);
    if (text.includes('KWPATCH')) return patch(`*** Add File: ${patchFolder}made-${++files}\n+made\n`)(reply, request);
    return reply.message(`Reply to: ${text.slice(0, 60)} (done)`);
  };
}

/** Builds the folders and starts the model. `patchFolder` is where its patches write, from the workspace. */
export async function openStage(exe, { patchFolder = '../' } = {}) {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'hr-'));
  const model = await new ModelServer().start();
  model.otherwise = keywordModel(patchFolder);
  const place = new Place(base, target('heddle'), model.origin, {
    model: MODEL,
    config: {
      approval_policy: 'on-request',
      sandbox_mode: 'workspace-write',
      tools: { update_plan: { enabled: true } },
    },
    mcp: { demo: demoMcpServer() },
  });
  fs.writeFileSync(path.join(place.workspace, 'tracked.txt'), 'as it was\n');
  execFileSync('git', ['init', '-q'], { cwd: place.workspace, env: place.env() });
  return new Stage(exe, place, model);
}

/** Whether somebody takes connections at this socket. */
const accepts = (file) =>
  new Promise((resolve) => {
    const probe = createConnection(file, () => {
      probe.destroy();
      resolve(true);
    });
    probe.on('error', () => resolve(false));
  });

class Stage {
  record = new Record();
  #exe;
  #place;
  #servers = [];
  #connections = 0;

  constructor(exe, place, model) {
    this.#exe = exe;
    this.#place = place;
    this.model = model;
    this.workspace = place.workspace;
    this.folder = place.base;
  }

  env() {
    return this.#place.env();
  }

  command(argv) {
    return /\.[cm]?js$/.test(this.#exe)
      ? { file: process.execPath, args: [this.#exe, ...argv] }
      : { file: this.#exe, args: argv };
  }

  /** Runs the program to its end. */
  run(...argv) {
    const { file, args } = this.command(argv);
    return spawnSync(file, args, {
      env: this.env(),
      cwd: this.workspace,
      encoding: 'utf8',
      input: '',
      timeout: 90_000,
    });
  }

  nextConnection() {
    this.#connections += 1;
    return this.#connections;
  }

  /** A recorded message, with the folder and the ids of this stage. */
  translate(text, ids) {
    let ours = text.replaceAll('"/workspace"', JSON.stringify(this.workspace));
    for (const [name, value] of ids) ours = ours.replaceAll(name, value);
    return ours;
  }

  /** The program over its standard streams. */
  spawn(...argv) {
    const wire = stdioWire(this.command(argv), { env: this.env(), cwd: this.workspace });
    return new Client(wire, this.record, this.nextConnection());
  }

  /** A connection to the program listening, made with a token in the header: `ws` or `unix`. */
  async connect(kind) {
    const port = await freePort();
    const token = crypto.randomBytes(32).toString('base64url');
    const tokenFile = path.join(this.folder, 'token');
    const socket = path.join(this.folder, 'app.sock');
    fs.writeFileSync(tokenFile, token, { mode: 0o600 });
    const auth = ['--ws-auth', 'capability-token', '--ws-token-file', tokenFile];
    const argv = kind === 'ws' ? ['--listen', `ws://127.0.0.1:${port}`, ...auth] : ['--listen', `unix://${socket}`];
    const server = new ServerProcess(this.command(['app-server', ...argv]), { env: this.env(), cwd: this.workspace });
    this.#servers.push(server);
    const listens = async () => (kind === 'ws' ? (await get(port, '/readyz')).status === 200 : accepts(socket));
    if (!(await server.until(listens, 60_000))) throw new Error(`the server does not listen: ${server.output}`);
    const url = kind === 'ws' ? `ws://127.0.0.1:${port}` : `ws+unix://${socket}:/`;
    const wire = webSocketWire(url, { headers: { authorization: `Bearer ${token}` } });
    const { open, ...refusal } = await wire.opened;
    if (!open) throw new Error(`no connection: ${JSON.stringify(refusal)}`);
    return new Client(wire, this.record, this.nextConnection());
  }

  /** Ends what listens; what it held goes on in the next server. */
  async stopServers() {
    await Promise.all(this.#servers.splice(0).map((server) => server.stop('SIGTERM', 20_000)));
  }

  async close() {
    await this.stopServers();
    this.run('app-server', 'daemon', 'stop');
    this.model.stop();
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
