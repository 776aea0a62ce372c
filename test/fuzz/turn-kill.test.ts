// kill -9 while turns stream: what a client had received is there after the restart, and no turn is left hanging.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { verifyHistory } from '../../src/history/verify.ts';
import { SEED } from '../harness/chance.ts';

const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 20);
const EXECUTABLE = fileURLToPath(new URL('../../bin/heddle.js', import.meta.url));

type Json = { readonly [name: string]: unknown };
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json;
  readonly error?: unknown;
  readonly seq?: number;
}

/** A server process on standard streams and everything that it has said. */
class Server {
  readonly received: Message[] = [];
  readonly child: ChildProcess;
  readonly #answers = new Map<number, (message: Message) => void>();
  readonly #watchers = new Set<() => void>();
  #nextId = 1;

  constructor(directory: string) {
    this.child = spawn(process.execPath, [EXECUTABLE, 'app-server', '--backend', 'mock', '--data-dir', directory], {
      cwd: directory,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.child.stdin!.on('error', () => {});
    createInterface({ input: this.child.stdout! }).on('line', (line) => this.#take(line));
  }

  async request(method: string, params: object): Promise<Json> {
    const id = this.#nextId++;
    const answer = new Promise<Message>((resolve) => this.#answers.set(id, resolve));
    this.child.stdin!.write(`${JSON.stringify({ id, method, params })}\n`);
    const message = await answer;
    expect(message.error).toBeUndefined();
    return message.result!;
  }

  /** Settles when so many messages of the given kind have come. */
  async until(isEnough: (received: readonly Message[]) => boolean): Promise<void> {
    while (!isEnough(this.received)) {
      await new Promise<void>((resolve) => {
        const watcher = () => {
          this.#watchers.delete(watcher);
          resolve();
        };
        this.#watchers.add(watcher);
      });
    }
  }

  async kill(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  async initialize(): Promise<void> {
    const capabilities = { experimentalApi: true };
    await this.request('initialize', { clientInfo: { name: 'fuzz', version: '1' }, capabilities });
  }

  #take(line: string): void {
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      return; // The last line of a killed process may be cut.
    }
    this.received.push(message);
    if (message.method === undefined && message.id !== undefined) this.#answers.get(message.id)?.(message);
    for (const watcher of [...this.#watchers]) watcher();
  }
}

function random(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

const SCRIPTS = [
  'say 400 words',
  'say 3000 words at 2000 a second',
  'think 100 words\nsay 200 words at 4000 a second',
  'run echo one; echo two\nsay 200 words',
  'run! echo asked\nsay 50 words',
];

it(`nothing that a client had received is lost by kill -9 (seed ${SEED}, ${ROUNDS} rounds)`, {
  timeout: 120_000 + ROUNDS * 30_000,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-kill-'));
  await writeFile(join(directory, 'config.yaml'), 'approval_policy: on-request\nsandbox_mode: workspace-write\n');
  const next = random(SEED);
  const seen = new Map<string, Message[]>();
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const server = new Server(directory);
      await server.initialize();
      await check(server, seen);
      await streamUntilKilled(server, seen, next);
      const { damages } = await verifyHistory(directory);
      expect(damages).toEqual([]);
    }
    const last = new Server(directory);
    await last.initialize();
    await check(last, seen);
    await last.kill();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

async function streamUntilKilled(server: Server, seen: Map<string, Message[]>, next: () => number): Promise<void> {
  const threads: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    const { thread } = await server.request('thread/start', {});
    threads.push((thread as { id: string }).id);
  }
  const before = server.received.length;
  for (const threadId of threads) {
    const text = SCRIPTS[Math.floor(next() * SCRIPTS.length)]!;
    void server.request('turn/start', { threadId, input: [{ type: 'text', text }] });
  }
  const enough = Math.floor(next() * 900);
  const isStill = ({ method }: Message) =>
    method === 'turn/completed' || method === 'item/commandExecution/requestApproval';
  const isOver = (received: readonly Message[]) =>
    received.length - before >= enough || received.filter(isStill).length >= threads.length;
  await server.until(isOver);
  await server.kill();
  for (const message of server.received) {
    const threadId = (message.params as { threadId?: string } | undefined)?.threadId;
    if (threadId === undefined) continue;
    seen.set(threadId, [...(seen.get(threadId) ?? []), message]);
  }
}

interface SeenItem {
  readonly id: string;
  readonly text?: string;
}

/** Compares what clients saw of the newest threads with what the server says of them now. */
async function check(server: Server, seen: Map<string, Message[]>): Promise<void> {
  for (const [threadId, messages] of [...seen].slice(-12)) {
    const items = await allItems(server, threadId);
    const asked = new Set<string>();
    const deltas = new Map<string, string>();
    for (const { method, params } of messages) {
      const { item, itemId, delta } = (params ?? {}) as { item: SeenItem; itemId: string; delta: string };
      if (method === 'item/completed') expect(items.get(item.id)).toEqual(item);
      if (method === 'item/agentMessage/delta') deltas.set(itemId, (deltas.get(itemId) ?? '') + delta);
      if (method === 'item/commandExecution/requestApproval') asked.add(itemId);
    }
    for (const [itemId, text] of deltas) expect(items.get(itemId)?.text?.startsWith(text)).toBe(true);
    await checkTurns(server, threadId, messages, asked.size > 0);
  }
}

async function checkTurns(
  server: Server,
  threadId: string,
  messages: readonly Message[],
  wasAsked: boolean,
): Promise<void> {
  const { data } = await server.request('thread/turns/list', { threadId, itemsView: 'notLoaded' });
  const turns = data as { id: string; status: string }[];
  for (const { method, params } of messages) {
    if (method !== 'turn/completed' && method !== 'turn/started') continue;
    const { turn } = params as { turn: { id: string; status: string } };
    const now = turns.find((each) => each.id === turn.id);
    expect(now).toBeDefined();
    if (method === 'turn/completed') expect(now?.status).toBe(turn.status);
  }
  for (const turn of turns) if (!wasAsked) expect(turn.status).not.toBe('inProgress');
}

async function allItems(server: Server, threadId: string): Promise<Map<string, SeenItem>> {
  const items = new Map<string, SeenItem>();
  let cursor: string | null = null;
  do {
    const page = await server.request('thread/items/list', { threadId, cursor, limit: 100 });
    for (const { item } of page.data as { item: SeenItem }[]) items.set(item.id, item);
    cursor = page.nextCursor as string | null;
  } while (cursor !== null);
  return items;
}
