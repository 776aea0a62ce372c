// What every driver needs: a place, a scripted model that obeys key words, the server, and steps that are counted.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../client.mjs';
import { freePort, get } from '../context.mjs';
import { ModelServer, pause, words } from '../model.mjs';
import { escalated, patch } from '../steps.mjs';
import { Place, target, targetNames } from '../target.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
export { pause };

let files = 0;

/** The model: what it does depends on a key word in the last thing the user wrote. */
export const keywordModel = (reply, request) => {
  const text = request.userTexts.at(-1) ?? '';
  const format = request.body.text?.format?.type ?? request.body.response_format?.type;
  if (format === 'json_schema') return reply.message('{"title":"Scripted","answer":"ok"}');
  if (request.continues) return reply.message(`Continued: ${text.slice(0, 40)} (done)`);
  if (/KWSLOW/.test(text)) return words(300, 60)(reply, request);
  if (/KWASK/.test(text)) return escalated(`touch asked-${files += 1}`)(reply, request);
  if (/KWPATCH/.test(text)) return patch(`*** Add File: made-${files += 1}.txt\n+made\n`)(reply, request);
  return reply.message(`Reply to: ${text.slice(0, 60)} (done)`);
};

export async function setUp(name) {
  const { values } = parseArgs({
    options: {
      exe: { type: 'string' }, url: { type: 'string' }, target: { type: 'string', default: 'reference' },
      modules: { type: 'string', default: path.join(HERE, '..', '..', 'node_modules') }, codex: { type: 'string' },
      verbose: { type: 'boolean', default: false }, help: { type: 'boolean', default: false },
    },
  });
  if (values.help || (!values.exe && !values.url)) {
    console.log(`node ${name}.mjs --exe PATH | --url URL [--target ${targetNames.join('|')}] [--modules DIR] [--codex PATH] [--verbose]`);
    console.log('  --exe      executable that takes the place of codex; --url: a running server whose model is clients/model.mjs');
    console.log('  --modules  node_modules folder with the clients; --codex: the codex client itself, where a driver needs one');
    process.exit(values.help ? 0 : 2);
  }
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'wkc-'));
  const model = await new ModelServer().start();
  model.otherwise = keywordModel;
  const aim = target(values.target);
  const place = new Place(base, aim, model.origin, { config: { approval_policy: 'on-request', sandbox_mode: 'workspace-write' } });
  const drive = new Drive({ values, base, model, aim, place });
  drive.shim = drive.makeShim();
  return drive;
}

class Drive {
  failed = 0;
  cleanups = [];

  constructor(parts) { Object.assign(this, parts); }

  get workspace() { return this.place.workspace; }

  /** Environment in which `codex` is the server under test. */
  env(extra = {}) {
    return this.place.env({ PATH: `${path.dirname(this.shim)}:${process.env.PATH}`, NO_BROWSER: '1', ...extra });
  }

  /** A folder with an executable called codex that runs the server under test. */
  makeShim() {
    const folder = path.join(this.base, 'bin');
    const file = path.join(folder, 'codex');
    fs.mkdirSync(folder, { recursive: true });
    const exe = this.values.exe ? path.resolve(this.values.exe) : '/bin/false';
    const run = /\.[cm]?js$/.test(exe) ? `"${process.execPath}" "${exe}"` : `"${exe}"`;
    fs.writeFileSync(file, `#!/bin/sh\nexec ${run} "$@"\n`, { mode: 0o755 });
    return file;
  }

  /** The codex client: given, installed beside the drivers, or the executable under test. */
  get codexClient() {
    if (this.values.codex) return path.resolve(this.values.codex);
    const installed = path.join(this.values.modules, '.bin', 'codex');
    return fs.existsSync(installed) ? installed : this.values.exe && path.resolve(this.values.exe);
  }

  /** The address of the server: the one given, or of one started here. */
  async serverUrl() {
    if (this.values.url) return this.values.url;
    const port = await freePort();
    const url = `ws://127.0.0.1:${port}`;
    const args = ['app-server', ...this.aim.listen(url), ...this.aim.withoutAuth(url)];
    const server = new ServerProcess({ file: this.shim, args }, { env: this.env(), cwd: this.workspace });
    this.cleanups.push(() => server.stop('SIGTERM', 10_000));
    if (!(await server.until(async () => (await get(port, '/readyz')).status === 200))) throw new Error(`no server: ${server.output}`);
    return url;
  }

  needsExe() {
    if (this.values.exe) return;
    console.error('this client starts its server itself: give --exe');
    process.exit(2);
  }

  /** A module of a client, by what `import` of that package would find. */
  async module(name, file) {
    const root = path.join(this.values.modules, name);
    if (file) return import(pathToFileURL(path.join(root, file)));
    const manifest = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
    const entry = manifest.exports?.['.'] ?? manifest.exports ?? manifest.module ?? manifest.main;
    const pick = (value) => (typeof value === 'string' ? value : pick(value.import ?? value.node ?? value.default));
    const found = entry ? path.join(root, pick(entry)) : createRequire(path.join(root, 'package.json')).resolve(name);
    return import(pathToFileURL(found));
  }

  /** Runs one step; its result, when a string or false, must not be false. */
  async step(label, work, limit = 90_000) {
    const timer = { id: undefined };
    try {
      const late = new Promise((_done, fail) => { timer.id = setTimeout(() => fail(new Error(`nothing after ${limit} ms`)), limit); });
      const result = await Promise.race([work(), late]);
      if (result === false) throw new Error('not as it should be');
      console.log(`ok     ${label}${this.values.verbose && result !== undefined ? ` ${JSON.stringify(result).slice(0, 200)}` : ''}`);
      return result;
    } catch (error) {
      this.failed += 1;
      console.log(`FAILED ${label}: ${String(error?.message ?? error).slice(0, 400)}`);
      return undefined;
    } finally {
      clearTimeout(timer.id);
    }
  }

  /** A step that the server may refuse; what it said is printed. */
  async attempt(label, work) {
    const before = this.failed;
    await this.step(`${label} (optional)`, work);
    this.failed = before;
  }

  async finish() {
    for (const cleanup of this.cleanups.reverse()) await cleanup();
    // A server that clients share outlives them.
    if (this.values.exe && this.values.target === 'heddle')
      spawnSync(this.shim, ['app-server', 'daemon', 'stop'], { env: this.env(), stdio: 'ignore', timeout: 20_000 });
    this.model.stop();
    fs.rmSync(this.base, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    console.log(this.failed === 0 ? 'the session worked' : `${this.failed} steps failed`);
    process.exit(this.failed === 0 ? 0 : 1);
  }
}

/** Resolves with what `test` gives once that is truthy. */
export async function until(test, limit = 60_000, gap = 150) {
  for (const end = Date.now() + limit; Date.now() < end;) {
    const found = await test();
    if (found) return found;
    await pause(gap);
  }
  return false;
}
