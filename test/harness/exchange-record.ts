// Keeps one exchange of each method, with everything in it that differs from run to run made equal.

import type { Received, TestClient } from './test-client.ts';

export interface Exchanges {
  /** By method: what a client asked and was answered. */
  readonly requests: Record<string, { readonly params?: unknown; readonly result: unknown }>;
  /** By method: what the server asked, and the answer. */
  readonly serverRequests: Record<string, { readonly params: unknown; readonly result: unknown }>;
  /** By method: what the server told. */
  readonly notifications: Record<string, unknown>;
}

export class ExchangeRecord {
  readonly client: TestClient;
  readonly #exchanges: Exchanges = { requests: {}, serverRequests: {}, notifications: {} };
  readonly #answered = new Set<unknown>();

  constructor(client: TestClient) {
    this.client = client;
  }

  /** A request; the first of each method is kept. */
  async ask(method: string, params?: unknown): Promise<Received> {
    const result = await this.client.request(method, params);
    this.#exchanges.requests[method] ??= params === undefined ? { result } : { params, result };
    return result;
  }

  /** Answers the next question of this method. */
  async answer(method: string, result: unknown): Promise<void> {
    const isOpen = ({ id }: Received) => !this.#answered.has(id);
    const { id, params } = await this.client.message((each) => each.method === method && isOpen(each), method);
    this.#answered.add(id);
    this.client.send({ id, result });
    this.#exchanges.serverRequests[method] ??= { params, result };
  }

  /** `places`: folders that are shown as other ones. */
  finish(places: Readonly<Record<string, string>>): Exchanges {
    for (const { method, params } of this.client.notifications()) this.#exchanges.notifications[method] ??= params;
    const plain = new Plain(places);
    const { requests, serverRequests, notifications } = this.#exchanges;
    return {
      requests: plain.sorted(requests),
      serverRequests: plain.sorted(serverRequests),
      notifications: plain.sorted(notifications),
    };
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = 1_767_225_600;

/** Members whose values differ from run to run or from host to host, with what stands for them. */
const EQUAL: Readonly<Record<string, unknown>> = {
  ...{ userAgent: 'example/0.171.0 (Linux 6.1.0; x86_64) (example; 1.0.0) heddle/0.1.0', platformFamily: 'unix' },
  ...{ platformOs: 'linux', installationId: 'b6f4c1f0-0000-4000-8000-000000000000', pid: 4242, mode: 33_188 },
  ...{ shell: { name: 'bash', path: '/bin/bash' }, version: '0.1.0', cliVersion: '0.1.0', score: 100, durationMs: 12 },
  ...{ cursor: 'cursor', nextCursor: 'cursor', backwardsCursor: 'cursor', turnsBackwardsCursor: 'cursor' },
  ...{
    itemsBackwardsCursor: 'cursor',
    turnCursor: 'cursor',
    requestId: 1,
    nonce: 'nonce',
    headSeq: 12,
    nextSeq: 12,
    seq: 12,
    oldestSeq: 1,
    revision: '1',
  },
};

/** Of lists: two entries show what they are. */
const MAX_ENTRIES = 2;

class Plain {
  readonly #ids = new Map<string, string>();
  readonly #places: readonly (readonly [string, string])[];

  constructor(places: Readonly<Record<string, string>>) {
    this.#places = Object.entries(places);
  }

  sorted<T>(group: Readonly<Record<string, T>>): Record<string, T> {
    const rows = Object.entries(group).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(rows.map(([method, each]) => [method, this.#value(each) as T]));
  }

  #value(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return this.#text(value, name);
    if (typeof value === 'number') return this.#number(value, name);
    if (Array.isArray(value)) return value.slice(0, MAX_ENTRIES).map((each) => this.#value(each, name));
    if (value === null || typeof value !== 'object') return value;
    const members = Object.entries(value).map(([member, each]) => [this.#text(member, ''), this.#member(member, each)]);
    return Object.fromEntries(members);
  }

  #member(name: string, value: unknown): unknown {
    if (Object.hasOwn(EQUAL, name) && value !== null && typeof value === typeof EQUAL[name]) return EQUAL[name];
    return this.#value(value, name);
  }

  #text(text: string, name: string): string {
    if (/digest$/i.test(name) || /^(sha256:)?[0-9a-f]{64}$/.test(text)) return 'sha256';
    if (name === 'processId' && /^\d+$/.test(text)) return '4242';
    const placed = this.#places.reduce((each, [from, to]) => each.replaceAll(from, to), text);
    return placed.replaceAll(UUID, (id) => this.#id(id));
  }

  /** Numbered as they appear. */
  #id(id: string): string {
    const known = this.#ids.get(id) ?? `019b0000-0000-7000-8000-${String(this.#ids.size + 1).padStart(12, '0')}`;
    this.#ids.set(id, known);
    return known;
  }

  #number(value: number, name: string): number {
    if (value > 1e12) return TIME * 1000;
    if (value > 1e9 && /At$/.test(name)) return TIME;
    return value;
  }
}
