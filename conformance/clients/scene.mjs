// What a session of real clients needs: folders, a scripted model, the server under test behind a relay, a token.
import { execFile, execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ServerProcess } from '../kit/client.mjs';
import { freePort, get } from '../kit/context.mjs';
import { ModelServer, words } from '../kit/model.mjs';
import { askUser, escalated, mcpTool, patch } from '../kit/steps.mjs';
import { demoMcpServer, Place, target } from '../kit/target.mjs';
import { openRelay } from './relay.mjs';

export const TOKEN_VARIABLE = 'HEDDLE_CONFORMANCE_TOKEN';

const QUESTION = {
  id: 'colour',
  header: 'Colour',
  question: 'Which colour shall it be?',
  options: [
    { label: 'Green', description: 'as grass' },
    { label: 'Blue', description: 'as the sky' },
  ],
};

/** What the model does depends on a key word in what the user wrote last; `held` settles when it may end what it holds. */
const keywordModel = (held) => (reply, request) => {
  const text = request.userTexts.at(-1) ?? '';
  const format = request.body.text?.format?.type ?? request.body.response_format?.type;
  if (format === 'json_schema') return reply.message('{"title":"Scripted session"}');
  if (request.continues) return reply.message(`Continued: ${text.slice(0, 40)} (done)`);
  if (text.includes('KWSLOW')) return words(4_000, 60)(reply, request);
  if (text.includes('KWHOLD')) return words(24, (at) => (at === 12 ? held : pause(60)))(reply, request);
  if (text.includes('KWSTREAM')) return words(24, 60)(reply, request);
  const asked = /KWASK (\S+)/.exec(text);
  if (asked) return escalated(`touch ${asked[1]}`)(reply, request);
  const added = /KWPATCH (\S+)/.exec(text);
  if (added) return patch(`*** Add File: ${added[1]}\n+a line of the patch\n`)(reply, request);
  if (text.includes('KWMCP')) return mcpTool('demo', 'echo', { text: 'from the model' })(reply, request);
  if (text.includes('KWFORM')) return mcpTool('demo', 'ask')(reply, request);
  if (text.includes('KWQUESTION')) return askUser([QUESTION])(reply, request);
  return reply.message(`Reply to: ${text.slice(0, 60)} (done)`);
};

/** Builds everything and starts the server; `close` ends and removes it all. */
export async function openScene(targetName, { exe, codex }) {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'hc-'));
  const model = await new ModelServer().start();
  let goOn = () => {};
  model.otherwise = keywordModel(
    new Promise((resolve) => {
      goOn = resolve;
    }),
  );
  const aim = target(targetName, { exe });
  const place = new Place(base, aim, model.origin, {
    config: { approval_policy: 'on-request', sandbox_mode: 'workspace-write' },
    mcp: { demo: demoMcpServer() },
  });
  makeRepository(place);
  const scene = new Scene({ base, model, goOn, aim, place, codex, port: await freePort() });
  try {
    await scene.start();
    scene.relay = await openRelay(`ws://127.0.0.1:${scene.port}`);
  } catch (error) {
    await scene.close();
    throw error;
  }
  return scene;
}

const SKILL = '---\nname: greet-people\ndescription: How people are greeted here\n---\nSay hello twice.\n';

/** The folder is a repository with one commit, so that there is something to differ from and to review, and with a skill. */
function makeRepository(place) {
  const { workspace } = place;
  const skill = path.join(workspace, '.agents', 'skills', 'greet-people');
  fs.mkdirSync(skill, { recursive: true });
  fs.writeFileSync(path.join(skill, 'SKILL.md'), SKILL);
  fs.writeFileSync(path.join(workspace, 'tracked.txt'), 'as it was\n');
  const person = ['-c', 'user.name=Tester', '-c', 'user.email=tester@localhost'];
  for (const args of [
    ['init', '-q'],
    ['add', '.'],
    [...person, 'commit', '-q', '-m', 'first'],
  ])
    execFileSync('git', args, { cwd: workspace, env: place.env(), stdio: 'ignore' });
}

class Scene {
  #token = crypto.randomBytes(32).toString('base64url');
  #server;
  output = '';

  constructor(parts) {
    Object.assign(this, parts);
    this.workspace = this.place.workspace;
    // The reference listens at one address.
    if (this.aim.name === 'heddle') this.socket = path.join(this.base, 'app.sock');
    this.clientHome = path.join(this.base, 'client-home');
    fs.mkdirSync(this.clientHome, { recursive: true });
    const trust = `[projects.${JSON.stringify(this.workspace)}]\ntrust_level = "trusted"\n`;
    fs.writeFileSync(path.join(this.clientHome, 'config.toml'), `check_for_update_on_startup = false\n\n${trust}`);
  }

  /** Environment of the clients; the token is in it, nothing of ours besides. */
  clientEnv() {
    const { PATH, HOME, TMPDIR, LANG, SHELL } = this.place.env();
    return {
      PATH,
      HOME,
      TMPDIR,
      LANG,
      SHELL,
      TERM: 'xterm-256color',
      CODEX_HOME: this.clientHome,
      [TOKEN_VARIABLE]: this.#token,
    };
  }

  /** Arguments that point a client at the relay. */
  get remote() {
    return ['--remote', this.relay.url, '--remote-auth-token-env', TOKEN_VARIABLE];
  }

  /** Starts the server on its port and data directory; the second time these are what the first one left. */
  async start() {
    const tokenFile = path.join(this.base, 'token');
    fs.writeFileSync(tokenFile, this.#token, { mode: 0o600 });
    const url = `ws://127.0.0.1:${this.port}`;
    const socket = this.socket === undefined ? [] : this.aim.listen(`unix://${this.socket}`);
    const args = [...this.aim.listen(url), ...socket, '--ws-auth', 'capability-token', '--ws-token-file', tokenFile];
    const server = new ServerProcess(this.aim.command(args), { env: this.place.env(), cwd: this.workspace });
    this.#server = server;
    const ready = await server.until(async () => (await get(this.port, '/readyz')).status === 200, 90_000);
    if (!ready)
      throw new Error(
        `the server does not listen (${JSON.stringify(server.exit ?? 'it runs')}); it wrote:\n${server.output.slice(-2_000)}`,
      );
  }

  /** `meanwhile`: what is waited for while there is no server. */
  async killAndRestart(meanwhile = () => {}) {
    await this.#server.stop('SIGKILL');
    await meanwhile();
    this.output += this.#server.output;
    await this.start();
  }

  /** What the server wrote on its standard streams. */
  serverOutput() {
    return `${this.output}${this.#server?.output ?? ''}`;
  }

  exists(name) {
    return fs.existsSync(path.join(this.workspace, name));
  }

  /** Runs the codex client to its end: its standard output; fails with what it wrote when it fails. */
  run(...args) {
    return this.runWith(this.clientEnv(), ...args);
  }

  runWith(env, ...args) {
    return new Promise((resolve, reject) => {
      const options = { cwd: this.workspace, env, timeout: 240_000, maxBuffer: 1 << 26 };
      const child = execFile(this.codex, args, options, (error, stdout, stderr) => {
        if (error)
          reject(
            new Error(
              `codex ${args[0]} ended with ${error.code ?? error.signal}\n${stdout.slice(-1_000)}\n${stderr.slice(-2_000)}`,
            ),
          );
        else resolve(stdout);
      });
      child.stdin.end();
    });
  }

  async close() {
    this.relay?.close();
    await this.#server?.stop('SIGTERM', 20_000);
    this.model.stop();
    fs.rmSync(this.base, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
