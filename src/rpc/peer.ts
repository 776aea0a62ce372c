// One end of a conversation: reads frames, pairs answers with questions, bounds what is in flight. Server and client use the same.

import { type Clock, systemClock } from '../base/clock.ts';
import { AppError, isAppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { cancelledBy, onAbort } from '../base/signals.ts';
import type { BadFrame, CloseReason, Connection } from '../transports/connection.ts';
import { fromWire, INTERNAL_TEXT, wireError } from './errors.ts';
import { InFlight } from './in-flight.ts';
import {
  errorFrame,
  idNearStart,
  type NotificationMessage,
  notificationFrame,
  parseFrame,
  type RawId,
  type RequestMessage,
  type ResponseMessage,
  type ResultPiece,
  requestFrame,
  resultBytes,
  resultFrame,
  withVersion,
} from './message.ts';
import { createOutbox, HIGH_WATER, type Outbox } from './outbox.ts';
import { StartGate } from './start-gate.ts';

/** The way back of one request; only the first answer counts. */
export interface Reply {
  result(value: unknown): void;
  /** A result that is JSON text already. */
  resultText(json: string): void;
  /** The same in pieces. */
  resultPieces(json: readonly ResultPiece[]): void;
  error(error: unknown): void;
}

export interface PeerHandlers {
  request(message: RequestMessage, reply: Reply): void;
  notification(message: NotificationMessage): void;
  /** Started at once, with a limit of its own on what is in flight. */
  isStop(method: string): boolean;
  /** Its answer may have megabytes: few are prepared at once. Default: none has. */
  hasLargeAnswer?(method: string): boolean;
  /** A frame that is no message. With this it is told here and not answered, so that two ends never argue about it. */
  unreadable?(error: AppError): void;
}

export interface PeerOptions {
  readonly log: Pick<Log, 'debug' | 'error'>;
  readonly clock?: Clock;
  readonly maxInFlight?: number;
  /** Bytes of requests in flight beyond the largest of them. */
  readonly maxInFlightBytes?: number;
}

export const MAX_IN_FLIGHT = 256;
export const MAX_IN_FLIGHT_BYTES = 4 * 1024 * 1024;
/** Far more than anybody needs, so that a stop is never refused to a client that means it. */
export const MAX_STOPS = 1024;
const MAX_STOP_BYTES = 1024 * 1024;
/** How much is read while the outbox is full, to see answers and stops, and what the answer to a frame may add to it. */
const MAX_READ_WHILE_FULL = HIGH_WATER;
const COST_OF_A_FRAME = 256;
/** How long answers are waited for after the other side has finished sending. */
const FAREWELL_MS = 2_000;

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export class Peer {
  readonly connection: Connection;
  readonly outbox: Outbox;
  readonly maxInFlight: number;
  /** Answers that came to no question: counted, never acted on. */
  strayAnswers = 0;
  readonly #handlers: PeerHandlers;
  readonly #log: PeerOptions['log'];
  readonly #clock: Clock;
  readonly #requests: InFlight;
  readonly #stops = new InFlight({ count: MAX_STOPS, bytes: MAX_STOP_BYTES });
  readonly #gate: StartGate;
  readonly #expected = new Map<RawId, (answer: ResponseMessage) => void>();
  readonly #failPending = new Map<RawId, (error: AppError) => void>();
  #nextId = 0;
  #echoVersion: boolean | undefined;
  #readWhileFull = 0;
  #idle: (() => void) | undefined;

  constructor(connection: Connection, handlers: PeerHandlers, options: PeerOptions) {
    this.connection = connection;
    this.outbox = createOutbox(connection);
    this.#handlers = handlers;
    this.#log = options.log;
    this.#clock = options.clock ?? systemClock;
    this.maxInFlight = options.maxInFlight ?? MAX_IN_FLIGHT;
    this.#requests = new InFlight({
      count: this.maxInFlight,
      bytes: options.maxInFlightBytes ?? MAX_IN_FLIGHT_BYTES,
    });
    this.#gate = new StartGate(this.outbox);
    void connection.closed.then((reason) => this.#fail(reason));
  }

  /** Whether the first message had a `jsonrpc` member, so that ours have it too. */
  get echoesVersion(): boolean {
    return this.#echoVersion ?? false;
  }

  /** Reads until the other side has finished, answers what was asked, then closes the connection. */
  async run(): Promise<void> {
    try {
      for await (const frame of this.connection.frames) {
        if (typeof frame === 'string') this.#take(frame);
        else this.#refuse(frame);
        if (this.outbox.isFull()) await this.#mayReadOn(frame);
        else this.#readWhileFull = 0;
      }
    } catch (error) {
      this.#log.debug({ err: error }, 'connection broke');
      await this.connection.close({ kind: 'broken', text: 'the wire broke' });
      return;
    }
    await this.#answered();
    await this.connection.close({ kind: 'ended', text: 'the other side has finished' });
  }

  notify(method: string, params: unknown): void {
    const frame = notificationFrame(method, JSON.stringify(params), this.#clock.now());
    this.sendFrames([this.echoesVersion ? withVersion(frame) : frame]);
  }

  /** Frames that somebody else has rendered, in the form of this connection. */
  sendFrames(frames: readonly (string | Buffer)[]): void {
    this.outbox.send(frames);
  }

  /** Asks the other side; ids are this peer's own. Rejects with the other side's error, on abort, deadline or close. */
  call(method: string, params: unknown, options: CallOptions = {}): Promise<unknown> {
    const id = String(this.#nextId++);
    return new Promise((resolve, reject) => {
      const release: (() => void)[] = [];
      const settle = (work: () => void) => {
        this.#expected.delete(id);
        this.#failPending.delete(id);
        for (const each of release) each();
        work();
      };
      this.#expected.set(id, (answer) =>
        settle(() => (answer.error === undefined ? resolve(answer.result) : reject(fromWire(answer.error)))),
      );
      this.#failPending.set(id, (error) => settle(() => reject(error)));
      if (options.signal) {
        const { signal } = options;
        release.push(onAbort(signal, () => settle(() => reject(cancelledBy(signal)))));
        if (signal.aborted) return;
      }
      if (options.timeoutMs !== undefined) {
        const text = `no answer to ${method} within ${options.timeoutMs} ms`;
        release.push(
          this.#clock.timer(options.timeoutMs, () => settle(() => reject(new AppError('unavailable', text)))),
        );
      }
      this.sendFrames([requestFrame(id, method, params, this.echoesVersion)]);
    });
  }

  /** An answer with this id, to a question that was sent as a ready frame, goes to `take`; only the first one. */
  expect(id: number, take: (answer: ResponseMessage) => void): void {
    const raw = String(id);
    this.#expected.set(raw, (answer) => {
      this.#expected.delete(raw);
      take(answer);
    });
  }

  forget(id: number): void {
    this.#expected.delete(String(id));
  }

  #take(frame: string): void {
    const { message, hasVersion } = parseFrame(frame);
    this.#echoVersion ??= hasVersion;
    switch (message.kind) {
      case 'request':
        this.#admit(message, frame.length);
        return;
      case 'notification':
        this.#handlers.notification(message);
        return;
      case 'response': {
        const take = this.#expected.get(message.id);
        if (take) take(message);
        else this.strayAnswers += 1;
        return;
      }
      case 'invalid':
        this.#object(message.id, message.error);
    }
  }

  #object(id: RawId, error: AppError): void {
    if (this.#handlers.unreadable) this.#handlers.unreadable(error);
    else this.#sendError(id, error);
  }

  #refuse({ bad, start, limit }: BadFrame): void {
    const tooLarge = `this frame is larger than the limit of ${limit} bytes`;
    if (bad === 'encoding') this.#object('null', new AppError('parse', 'this frame is not UTF-8'));
    else this.#object(idNearStart(start), new AppError('badRequest', tooLarge, { kind: 'too_large', limit }));
  }

  /** A full outbox lets answers and stops through, but not without end: each frame may be answered. */
  async #mayReadOn(frame: string | BadFrame): Promise<void> {
    this.#readWhileFull += COST_OF_A_FRAME + (typeof frame === 'string' ? frame.length : frame.start.length);
    if (this.#readWhileFull <= MAX_READ_WHILE_FULL) return;
    await this.outbox.hasRoom();
    this.#readWhileFull = 0;
  }

  #admit(message: RequestMessage, size: number): void {
    const { method } = message;
    const isStop = this.#handlers.isStop(method);
    const inFlight = isStop ? this.#stops : this.#requests;
    if (!inFlight.hasRoom(size)) {
      this.#sendError(message.id, new AppError('overloaded', 'Server overloaded; retry later.'));
      return;
    }
    inFlight.add(size);
    const start = (answered: () => void) => {
      const release = () => {
        inFlight.remove(size);
        answered();
        if (this.#isIdle) this.#idle?.();
      };
      this.#handlers.request(message, this.#replyTo(message, release));
    };
    if (isStop) start(() => {});
    else this.#gate.enter(this.#handlers.hasLargeAnswer?.(method) ?? false, start);
  }

  get #isIdle(): boolean {
    return this.#requests.count === 0 && this.#stops.count === 0;
  }

  #replyTo(message: RequestMessage, release: () => void): Reply {
    let answered = false;
    const settle = (send: () => void) => {
      if (answered) return;
      answered = true;
      send();
      release();
    };
    const resultText = (json: string) =>
      settle(() => this.sendFrames([resultFrame(message.id, json, this.echoesVersion)]));
    return {
      result: (value) => resultText(JSON.stringify(value ?? {})),
      resultText,
      resultPieces: (json) => settle(() => this.sendFrames([resultBytes(message.id, json, this.echoesVersion)])),
      error: (error) => settle(() => this.#sendError(message.id, this.#knownError(error, message))),
    };
  }

  #knownError(error: unknown, message: RequestMessage): AppError {
    if (isAppError(error)) return error;
    if (error instanceof RangeError && /call stack/i.test(error.message)) {
      return new AppError('invalid', 'the params are nested too deeply');
    }
    this.#log.error({ err: error, method: message.method, requestId: message.id }, 'request failed by a defect');
    return new AppError('internal', INTERNAL_TEXT);
  }

  #sendError(id: RawId, error: AppError): void {
    this.sendFrames([errorFrame(id, wireError(error), this.echoesVersion)]);
  }

  #answered(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#clock.timer(FAREWELL_MS, resolve);
      this.#idle = () => {
        cancel();
        resolve();
      };
      void this.connection.closed.then(this.#idle);
    });
  }

  #fail(reason: CloseReason): void {
    const error = new AppError('unavailable', `the connection is closed: ${reason.text}`);
    for (const fail of [...this.#failPending.values()]) fail(error);
    this.#expected.clear();
    this.#gate.shut();
    this.#idle?.();
  }
}
