// One message to clients, encoded once for all who get it.

import { packed } from '../base/packed.ts';
import type { ApprovalId } from '../model/ids.ts';
import { type ResponseMessage, withVersion } from '../rpc/message.ts';

/** Which approval a question of the server is about, and its id. */
interface Question {
  readonly approvalId: ApprovalId;
  readonly requestId: number;
  /** The same question to those who may not have a rule remembered. */
  readonly withoutRules: Frame | undefined;
}

/** A question that only one subscriber gets, and what is done with its answer. */
export interface Call {
  readonly requestId: number;
  /** Id of the subscriber. */
  readonly to: string;
  /** Told when it goes to the wire. */
  sent(): void;
  answered(answer: ResponseMessage): void;
}

/** One frame for a client, in both forms of the envelope; each is made when first asked for. */
export class Frame {
  readonly method: string;
  readonly experimental: boolean;
  readonly question: Question | undefined;
  /** Set on a question to one client alone. */
  readonly call: Call | undefined;
  readonly #text: string | undefined;
  #plain: Buffer | undefined;
  #versioned: Buffer | undefined;

  /** `text` may be the bytes of it. */
  constructor(
    method: string,
    text: string | Buffer,
    options: { experimental?: boolean; question?: Frame['question']; call?: Call } = {},
  ) {
    this.method = method;
    if (typeof text === 'string') this.#text = text;
    else this.#plain = text;
    this.experimental = options.experimental ?? false;
    this.question = options.question;
    this.call = options.call;
  }

  get text(): string {
    return this.#text ?? String(this.#plain);
  }

  encoded(isVersioned: boolean): Buffer {
    if (isVersioned) {
      this.#versioned ??= this.#text === undefined ? versioned(this.#plain as Buffer) : packed(withVersion(this.#text));
      return this.#versioned;
    }
    this.#plain ??= packed(this.text);
    return this.#plain;
  }
}

const VERSION = Buffer.from(withVersion('{'));

const versioned = (plain: Buffer): Buffer => Buffer.concat([VERSION, plain.subarray(1)]);
