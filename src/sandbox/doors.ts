// Ways out for commands without a network: for each list of hosts one proxy, there while a command may use it.

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

interface Shared {
  users: number;
  readonly socket: string;
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

  /** Rejects as *unavailable*: then the command must not run. */
  async open(rules: NetworkRules): Promise<Door> {
    const key = fingerprint(rules);
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
    const shared = { users: 0, socket, proxy: this.#listen(socket, rules) };
    shared.proxy.catch(() => {}); // told by `open`
    this.#shared.set(key, shared);
    return shared;
  }

  async #listen(socket: string, rules: NetworkRules): Promise<OpenProxy> {
    if (Buffer.byteLength(socket) > MAX_PATH)
      throw new AppError('unavailable', `no way to the network: the path ${socket} is longer than ${MAX_PATH} bytes`);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const { openProxy } = await import('./proxy.ts');
    return openProxy(socket, rules, (host, why) =>
      this.#log.info({ host, why }, 'a command was not let through to a host'),
    );
  }

  #leave(key: string, shared: Shared): void {
    shared.users -= 1;
    if (shared.users > 0) return;
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
    void this.#end(shared);
  }

  async #end({ proxy, socket }: Shared): Promise<void> {
    await proxy.then(
      (each) => each.close(),
      () => {},
    );
    await rm(socket, { force: true }).catch(() => {});
  }
}
