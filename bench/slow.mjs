// Measures a subscriber that reads slowly beside a healthy one: what the healthy one notices, and what the server holds. Prints figures; gives no verdict.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { connect } from './client.mjs';
import { ownKib } from './heddle-server.mjs';
import { quantile } from './meter.mjs';
import { startModel, Target } from './targets.mjs';

const USAGE = `node bench/slow.mjs [--deltas 200000] [--threads 10] [--kib 10] [--warm 20000] [--rounds 2] [--scratch DIR]
  deltas   in all, streamed by all threads at once, one each every other ms
  warm     as many before that, to the healthy one alone: what a server grows by anyway when it is used first
  kib      what the slow subscriber reads in a second`;

const { values } = parseArgs({
  options: {
    deltas: { type: 'string', default: '200000' },
    threads: { type: 'string', default: '10' },
    kib: { type: 'string', default: '10' },
    warm: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '2' },
    scratch: { type: 'string', default: os.tmpdir() },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const threadCount = Number(values.threads);
const each = Math.ceil(Number(values.deltas) / threadCount);
const warmEach = Math.ceil(Number(values.warm) / threadCount);
const GAP_MS = 2;

/** A session that is asked nothing but to listen, and says how late each delta came and with which text each thread ended. */
class Listener {
  lags = [];
  texts = new Map();
  #isSlow = false;
  #waiting = new Map();
  #ended = new Set();
  #next = 1;

  static async open(url, threads, kibPerSecond) {
    const listener = new Listener();
    const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 1 << 27 });
    listener.socket = socket;
    socket.on('message', (data) => listener.#receive(data));
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const clientInfo = { name: 'bench', version: '1.0.0' };
    await listener.#request('initialize', { clientInfo, capabilities: { experimentalApi: true } });
    for (const threadId of threads) await listener.#request('thread/resume', { threadId, excludeTurns: true });
    if (kibPerSecond !== undefined) listener.#slowDown(kibPerSecond);
    return listener;
  }

  /** Reads what there is from now on. */
  hurry() {
    this.#isSlow = false;
    this.socket.resume();
  }

  forget() {
    this.lags = [];
    this.texts.clear();
    this.#ended.clear();
  }

  async ended(threads) {
    while (threads.some((threadId) => !this.#ended.has(threadId))) await wait(20);
  }

  close() {
    this.socket.terminate();
  }

  #slowDown(kibPerSecond) {
    this.#isSlow = true;
    this.socket._socket.on('data', (chunk) => {
      if (!this.#isSlow) return;
      this.socket.pause();
      setTimeout(() => this.socket.resume(), (chunk.length / 1024 / kibPerSecond) * 1000);
    });
  }

  #request(method, params) {
    const id = this.#next++;
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  #receive(data) {
    const message = JSON.parse(data.toString());
    if (message.method === undefined) return this.#waiting.get(message.id)?.(message.result);
    const { params } = message;
    if (message.method === 'item/agentMessage/delta') this.lags.push(Date.now() - message.emittedAtMs);
    if (message.method === 'item/completed' && params.item.type === 'agentMessage')
      this.texts.set(params.threadId, params.item.text);
    if (message.method === 'turn/completed') this.#ended.add(params.threadId);
  }
}

async function stream(target, withSlow) {
  const server = await target.startWebSocket();
  const driver = await connect(server.url);
  const threads = [];
  for (let index = 0; index < threadCount; index += 1) threads.push(await driver.startThread(target.workspace));
  for (const threadId of threads) {
    await driver.turn(threadId, 1);
    await driver.request('thread/unsubscribe', { threadId });
  }
  const healthy = await Listener.open(server.url, threads);
  const input = (count) => [{ type: 'text', text: `bench:${count}:${GAP_MS}`, text_elements: [] }];
  const startAll = async (count) => {
    for (const threadId of threads) await driver.request('turn/start', { threadId, input: input(count) });
  };
  const cold = ownKib(server.pid);
  if (warmEach > 0) {
    await startAll(warmEach);
    await healthy.ended(threads);
    healthy.forget();
  }
  const slow = withSlow ? await Listener.open(server.url, threads, Number(values.kib)) : undefined;
  const before = ownKib(server.pid);
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, ownKib(server.pid) - before);
  }, 100);
  const start = performance.now();
  await startAll(each);
  await healthy.ended(threads);
  const seconds = (performance.now() - start) / 1000;
  clearInterval(watch);
  const figures = { p99: quantile(healthy.lags, 0.99), p50: quantile(healthy.lags, 0.5), most: most / 1024, seconds };
  const behind = slow && { deltas: slow.lags.length, ended: slow.texts.size };
  slow?.hurry();
  await slow?.ended(threads);
  const isEqual = threads.every(
    (threadId) => slow === undefined || slow.texts.get(threadId) === healthy.texts.get(threadId),
  );
  for (const each of [driver, healthy, slow]) each?.close();
  await server.close();
  console.log(
    `${withSlow ? 'beside a slow one' : 'alone            '}  lag of a delta p50 ${figures.p50} p99 ${figures.p99} ms, ` +
      `${Math.round((each * threadCount) / seconds)} deltas/s, at most ${figures.most.toFixed(1)} MiB more memory` +
      (warmEach > 0 ? ` (${(figures.most + (before - cold) / 1024).toFixed(1)} than before its first turns)` : '') +
      (behind
        ? `; the slow one had ${behind.deltas} pieces by then, and ended ${isEqual ? 'with the same' : 'WITH ANOTHER'} state`
        : ''),
  );
}

const scratch = fs.mkdtempSync(path.join(values.scratch, 'heddle-slow-'));
const model = await startModel(scratch);
try {
  const target = new Target('heddle', scratch, model.url);
  if (target.missing) throw new Error(target.missing);
  for (let round = 0; round < Number(values.rounds); round += 1)
    for (const withSlow of round % 2 === 0 ? [false, true] : [true, false]) await stream(target, withSlow);
} finally {
  await model.close();
  fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
process.exit(0);
