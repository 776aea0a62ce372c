// The programs of each connection by the names that its client gave them: never seen from another one, and ended with it.

import { AppError } from '../base/errors.ts';
import type { Session } from '../rpc/session.ts';
import type { LiveProcess } from './live-process.ts';

export interface Wording {
  /** A prefix of the names, of its own for each kind. */
  readonly kind: string;
  readonly missing: string;
  readonly duplicate: string;
}

/** Programs of one kind that a connection may have at a time. */
const MAX_PROCESSES = 256;
/** Names of ended programs that are remembered for each connection, to tell them from names that were never used. */
const REMEMBERED = 256;
const SHOWN = 200;

export class ConnectionProcesses {
  readonly #wording: Wording;
  readonly #ended = new WeakMap<Session, Set<string>>();

  constructor(wording: Wording) {
    this.#wording = wording;
  }

  /** Throws as *conflict* while another one has the name, and as *overloaded* when the connection has too many. */
  claim(session: Session, name: string, process: LiveProcess): void {
    const key = this.#key(name);
    if (session.owned(key))
      throw new AppError('conflict', `${this.#wording.duplicate}: ${quoted(name)}`, { kind: 'in_use', process: name });
    if (session.countOwned(this.#key('')) >= MAX_PROCESSES)
      throw new AppError('overloaded', 'Server overloaded; retry later.', { limit: MAX_PROCESSES });
    session.own(key, process);
    this.#ended.get(session)?.delete(name);
  }

  /** Throws as *notFound*, saying whether it has ended or never was. */
  find(session: Session, name: string): LiveProcess {
    const process = session.owned(this.#key(name));
    if (process) return process as LiveProcess;
    const state = this.#ended.get(session)?.has(name) ? 'ended' : 'unknown';
    const why = state === 'ended' ? ': it has ended' : '';
    throw new AppError('notFound', `${this.#wording.missing} ${quoted(name)}${why}`, { process: name, state });
  }

  /** The name is free again. */
  release(session: Session, name: string): void {
    session.release(this.#key(name));
    const ended = this.#ended.get(session) ?? new Set();
    ended.add(name);
    const [oldest] = ended;
    if (ended.size > REMEMBERED && oldest !== undefined) ended.delete(oldest);
    this.#ended.set(session, ended);
  }

  #key(name: string): string {
    return `${this.#wording.kind}:${name}`;
  }
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, SHOWN));
