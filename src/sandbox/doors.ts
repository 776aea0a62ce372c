// Ways out for commands without a network: one proxy for each list of hosts of each owner, there while a command may use it.

import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fingerprint } from '../base/canonical.ts';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { NetworkRules } from '../model/policy.ts';
import type { OpenProxy } from './proxy.ts';

export interface Door {
  /** Absolute path of a Unix socket with an HTTP proxy behind it. */
  readonly socket: string;
  /** To be called once, when nothing can use it any more. Never throws. */
  release(): void;
}

/** What the kernel takes as the path of a socket. */
const MAX_PATH = 103;

/** Hosts that are named in the log for one proxy, and characters of a name. */
const MOST_TOLD = 50;
const LONGEST_NAME = 253;

interface Shared {
  users: number;
  readonly socket: string;
  readonly refusals: Refusals;
  readonly proxy: Promise<OpenProxy>;
}

export class Doors implements Closable {
  readonly #folder: string;
  readonly #log: Log;
  readonly #shared = new Map<string, Shared>();

  /** `folder`: made when it is needed; one that no sandboxed command sees. */
  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  /**
   * `owner`: a thread, or whoever else starts commands; each has a number of connections of its own. Rejects as *unavailable*: then the
   * command must not run.
   */
  async open(rules: NetworkRules, owner: string): Promise<Door> {
    const key = fingerprint([owner, rules]);
    const shared = this.#shared.get(key) ?? this.#begin(key, rules);
    shared.users += 1;
    try {
      await shared.proxy;
    } catch (error) {
      this.#leave(key, shared);
      throw error;
    }
    let isReleased = false;
    const release = () => {
      if (!isReleased) this.#leave(key, shared);
      isReleased = true;
    };
    return { socket: shared.socket, release };
  }

  readonly close = closeOnce(async () => {
    const all = [...this.#shared.values()];
    this.#shared.clear();
    await Promise.all(all.map((shared) => this.#end(shared)));
  });

  #begin(key: string, rules: NetworkRules): Shared {
    const socket = join(this.#folder, `${randomBytes(4).toString('hex')}.sock`);
    const refusals = new Refusals(this.#log);
    const shared = { users: 0, socket, refusals, proxy: this.#listen(socket, rules, refusals) };
    shared.proxy.catch(() => {}); // told by `open`
    this.#shared.set(key, shared);
    return shared;
  }

  async #listen(socket: string, rules: NetworkRules, refusals: Refusals): Promise<OpenProxy> {
    if (Buffer.byteLength(socket) > MAX_PATH)
      throw new AppError('unavailable', `no way to the network: the path ${socket} is longer than ${MAX_PATH} bytes`);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const { openProxy } = await import('./proxy.ts');
    return openProxy(socket, rules, (host, why) => refusals.add(host, why));
  }

  #leave(key: string, shared: Shared): void {
    shared.users -= 1;
    if (shared.users > 0) return;
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
    void this.#end(shared);
  }

  async #end({ proxy, socket, refusals }: Shared): Promise<void> {
    await proxy.then(
      (each) => each.close(),
      () => {},
    );
    refusals.end();
    await rm(socket, { force: true }).catch(() => {});
  }
}

/** What was not let through, in the log: each host once, and no more of them than anybody would read. */
class Refusals {
  readonly #log: Log;
  readonly #told = new Set<string>();
  #others = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  add(given: string, why: string): void {
    const host = given.slice(0, LONGEST_NAME);
    if (this.#told.has(host) || this.#told.size >= MOST_TOLD) {
      this.#others += 1;
      return;
    }
    this.#told.add(host);
    this.#log.info({ host, why }, 'a command was not let through to a host');
  }

  end(): void {
    if (this.#others > 0) this.#log.info({ times: this.#others }, 'commands were not let through to hosts more often');
    this.#others = 0;
  }
}
