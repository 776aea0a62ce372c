// Plays what a client was recorded to send, against a program in the place of codex: it waits for what the client had seen by
// then, gives back the ids that it was given, and ends the program as the client does.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, stdioWire } from '../kit/client.mjs';

const PATIENCE_MS = 90_000;
const STARTS = new Set(['turn/start', 'review/start']);

/** The runs of a script: each the arguments of the program, and what the client does while it runs. */
export function readScript(file) {
  const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const runs = [];
  for (const line of lines.map((text) => JSON.parse(text))) {
    if (line.argv) runs.push({ argv: line.argv, acts: [] });
    else runs.at(-1).acts.push(line);
  }
  return runs;
}

/** Plays one run: `{ exit, tookMs }`, how it ended and how long that took. `place` starts the program: see `Stage`. */
export async function play({ argv, acts }, stage, record) {
  if (!acts.some(({ send }) => send)) return short(argv, stage);
  const wire = stdioWire(stage.command(argv), { env: stage.env(), cwd: stage.workspace });
  const client = new Client(wire, record, stage.nextConnection());
  const run = new Run(client, stage);
  for (const act of acts) await run.do(act);
  return run.ended(wire);
}

/** A program that only tells something: its output and how it ended. */
function short(argv, stage) {
  const { file, args } = stage.command(argv);
  const started = Date.now();
  const { status, signal, stdout } = spawnSync(file, args, { env: stage.env(), encoding: 'utf8', input: '' });
  return { exit: { code: status, signal }, text: stdout, tookMs: Date.now() - started };
}

class Run {
  #client;
  #stage;
  #ids = new Map();
  #answers = new Map();
  #questions = [];
  #seen = new Map();
  #awaited = new Map();
  #started = 0;
  #endedAt;
  #waiting = () => {};

  constructor(client, stage) {
    this.#client = client;
    this.#stage = stage;
    const receive = client.wire.onText;
    client.wire.onText = (text) => {
      receive(text);
      this.#take(JSON.parse(text));
      this.#waiting();
    };
  }

  #take(message) {
    if (message.method === undefined) this.#answers.set(message.id, message);
    else {
      if (message.id !== undefined) this.#questions.push(message);
      this.#seen.set(message.method, (this.#seen.get(message.method) ?? 0) + 1);
    }
  }

  async do(act) {
    if (act.send) await this.#send(act.send);
    else if (act.await === 'answer') await this.#answer(act);
    else if (act.await) await this.#event(act.await);
    else if (act.message) this.#client.send({ id: this.#questions[act.reply].id, ...act.message });
    else this.#end(act);
  }

  async #send(message) {
    // What a client stops has been running for a while.
    if (message.method === 'turn/interrupt') await pause(300);
    if (STARTS.has(message.method)) this.#started += 1;
    const own = JSON.parse(this.#stage.translate(JSON.stringify(message), this.#ids));
    const { id, method, params, ...rest } = own;
    if (id === undefined) this.#client.send({ ...rest, method, ...(params === undefined ? {} : { params }) });
    else this.#client.request(method, params, { id, timeout: PATIENCE_MS, rest });
  }

  async #answer({ of, binds = {} }) {
    await this.#until(() => this.#answers.has(of), `an answer to request ${of}`);
    const answer = this.#answers.get(of);
    for (const [name, path] of Object.entries(binds)) {
      const value = path.split('.').reduce((within, key) => within?.[key], answer.result);
      if (value === undefined) throw new Error(`request ${of} was answered without ${path}: ${JSON.stringify(answer)}`);
      this.#ids.set(name, value);
    }
  }

  async #event(method) {
    const count = (this.#awaited.get(method) ?? 0) + 1;
    // The reference starts turns by itself for a goal.
    if (method === 'turn/started' && count > this.#started) return;
    this.#awaited.set(method, count);
    await this.#until(() => (this.#seen.get(method) ?? 0) >= count, `${method} number ${count}`);
  }

  async #until(test, what) {
    for (const end = Date.now() + PATIENCE_MS; !test(); ) {
      if (!this.#client.open) throw new Error(`the program ended before ${what} came`);
      if (Date.now() > end) throw new Error(`${what} never came`);
      const heard = new Promise((resolve) => {
        this.#waiting = resolve;
      });
      await Promise.race([pause(200), heard]);
    }
  }

  #end({ signal }) {
    this.#endedAt ??= Date.now();
    if (signal) this.#client.wire.child.kill(signal);
    else this.#client.wire.child.stdin.end();
  }

  async ended(wire) {
    if (this.#endedAt === undefined) this.#end({ signal: 'SIGTERM' });
    const exit = await Promise.race([wire.ended, pause(30_000)]);
    if (!exit) wire.child.kill('SIGKILL');
    return { exit: exit ?? { code: null, signal: 'it had to be killed' }, tookMs: Date.now() - this.#endedAt };
  }
}
