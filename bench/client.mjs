// A client that costs little: deltas are counted by their bytes and never parsed.
import WebSocket from 'ws';

const DELTA_MARK = Buffer.from('"item/agentMessage/delta"');
const OUTPUT_MARK = Buffer.from('"command/exec/outputDelta"');
const LIMIT_MS = 60_000;

/** An error answer of the server; `code` is its JSON-RPC code. */
export class ErrorAnswer extends Error {
  constructor(method, { code, message }) {
    super(`${method}: ${code} ${message}`);
    this.code = code;
  }
}

export class Client {
  #send;
  #pending = new Map();
  #turns = new Map();
  #next = 1;
  #shown;
  /** Is given every notification but deltas and the end of turns. */
  heard = () => {};
  /** Delta notifications received, and when the last one came (ms of the monotonic clock). */
  deltas = 0;
  lastDelta = 0;

  constructor(send, close) {
    this.#send = send;
    this.close = close;
  }

  resetDeltas() {
    this.deltas = 0;
    this.lastDelta = 0;
  }

  async initialize() {
    const answer = await this.request('initialize', {
      clientInfo: { name: 'bench', version: '1.0.0' },
      capabilities: { experimentalApi: true },
    });
    this.#send('{"method":"initialized"}');
    return answer;
  }

  /** Resolves with `{ result, at }`, `at` being when the answer's bytes were here; throws ErrorAnswer. */
  request(method, params) {
    const id = this.#next++;
    return this.#timed(method, (resolve, reject) => {
      this.#pending.set(id, { method, resolve, reject });
      this.#send(JSON.stringify({ id, method, params }));
    });
  }

  async startThread(cwd) {
    const params = { cwd, approvalPolicy: 'never', sandbox: 'danger-full-access' };
    const { result } = await this.request('thread/start', params);
    return result.thread.id;
  }

  /**
   * Runs a turn in which the model sends `count` deltas, after it has called `true` so often, once in each answer; resolves
   * with the time of turn/completed.
   */
  async turn(threadId, count, gap = 0, calls = 0) {
    const completed = this.turnCompleted(threadId);
    const input = [{ type: 'text', text: `bench:${count}:${gap}:${calls}`, text_elements: [] }];
    await Promise.all([this.request('turn/start', { threadId, input }), completed]);
    return completed;
  }

  /** Resolves with the time at which the next turn of this thread is told to be completed; throws when it failed. */
  turnCompleted(threadId) {
    return this.#timed('turn/completed', (resolve, reject) => this.#turns.set(threadId, { resolve, reject }));
  }

  /** Resolves with the time at which the next piece of a command's output is here. */
  nextOutput() {
    return new Promise((resolve) => {
      this.#shown = resolve;
    });
  }

  #timed(what, work) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${what} within ${LIMIT_MS} ms`)), LIMIT_MS);
      const settled = (settle) => (value) => {
        clearTimeout(timer);
        settle(value);
      };
      work(settled(resolve), settled(reject));
    });
  }

  receive(frame) {
    const at = performance.now();
    if (frame.length < 4_096 && frame.includes(DELTA_MARK)) {
      this.deltas += 1;
      this.lastDelta = at;
      return;
    }
    if (frame.subarray(0, 100).includes(OUTPUT_MARK)) {
      this.#shown?.(at);
      return;
    }
    const message = JSON.parse(frame.toString());
    if (message.method === undefined) this.#answered(message, at);
    else if (message.method === 'turn/completed') this.#turnEnded(message.params, at);
    else this.heard(message);
  }

  #answered(message, at) {
    const waiting = this.#pending.get(message.id);
    if (!waiting) return;
    this.#pending.delete(message.id);
    if (message.error) waiting.reject(new ErrorAnswer(waiting.method, message.error));
    else waiting.resolve({ result: message.result, at });
  }

  #turnEnded({ threadId, turn }, at) {
    const waiting = this.#turns.get(threadId);
    if (!waiting) return;
    this.#turns.delete(threadId);
    if (turn.status === 'completed') waiting.resolve(at);
    else waiting.reject(new Error(`the turn ended ${turn.status}: ${JSON.stringify(turn.error)}`));
  }

  /** The wire is gone: whoever waits is told. */
  over(reason) {
    for (const waiting of [...this.#pending.values(), ...this.#turns.values()]) waiting.reject(new Error(reason));
    this.#pending.clear();
    this.#turns.clear();
  }
}

/** An initialized client over WebSocket. */
export async function connect(url) {
  const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 1 << 27 });
  const client = new Client(
    (text) => socket.send(text),
    () => socket.terminate(),
  );
  socket.on('message', (data) => client.receive(data));
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  socket.on('close', () => client.over('the connection closed'));
  await client.initialize();
  return client;
}

/** A client over the standard streams of a child; not yet initialized. */
export function overStdio(child) {
  const client = new Client(
    (text) => child.stdin.write(`${text}\n`),
    () => child.stdin.end(),
  );
  let rest = Buffer.alloc(0);
  child.stdout.on('data', (chunk) => {
    let from = 0;
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = bytes.indexOf(10, from); end !== -1; end = bytes.indexOf(10, from)) {
      if (end > from) client.receive(bytes.subarray(from, end));
      from = end + 1;
    }
    rest = bytes.subarray(from);
  });
  child.stdin.on('error', () => {});
  child.on('close', () => client.over('the server ended'));
  return client;
}
