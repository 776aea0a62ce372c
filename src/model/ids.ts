// Names of things: opaque strings, made here as UUIDv7 unless a client or a model chose them.

import { v7 } from 'uuid';
import { AppError } from '../base/errors.ts';

export type ThreadId = string;
export type TurnId = string;
export type ItemId = string;
export type ApprovalId = string;

/** Place of an event in the log of its thread: from 1, without gaps, never reused. */
export type Seq = number;

/** Random bytes for many ids: asking for them costs ten times what making an id does. */
const random = new Uint8Array(16 * 128);
let used = random.length;

function sixteenRandomBytes(): Uint8Array {
  if (used === random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  used += 16;
  return random.subarray(used - 16, used);
}

/** A new id. Unique; its order means nothing: sequence numbers order things. */
export const newId = (): string => v7({ random: sixteenRandomBytes() });

const CHOSEN_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** Checks an id that a client chose; throws *invalid* naming the rule. */
export function chosenId(what: string, id: string): string {
  if (CHOSEN_ID.test(id)) return id;
  throw new AppError(
    'invalid',
    `invalid ${what}: use 1 to 128 letters, digits, ".", "_", ":" or "-", beginning with a letter or digit`,
  );
}
