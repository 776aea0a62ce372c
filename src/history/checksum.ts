// A checksum before each stored value, so that a changed bit in it is noticed by whoever reads it.

import { crc32 } from 'node:zlib';
import { AppError } from '../base/errors.ts';
import type { Key } from './keys.ts';

/** Hexadecimal digits of a CRC-32, which finds every change of up to 32 neighbouring bits. */
const DIGITS = 8;

const digits = (text: string): string => crc32(text).toString(16).padStart(DIGITS, '0');

export const withChecksum = (text: string): string => digits(text) + text;

/** Undefined: the value is not what was written. */
export function withoutChecksum(stored: string): string | undefined {
  const text = stored.slice(DIGITS);
  return stored.length >= DIGITS && stored.startsWith(digits(text)) ? text : undefined;
}

/** Of a stored value as bytes: its checksum first. */
export const SUM_LENGTH = DIGITS;

const HEX = Buffer.from('0123456789abcdef');
const digitOf = (sum: number, place: number): number => HEX[(sum >>> (4 * (DIGITS - 1 - place))) & 15] as number;

/** `stored` begins with the checksum, `text` is what follows in it. */
export function hasChecksum(stored: Uint8Array, text: Uint8Array): boolean {
  const sum = crc32(text);
  for (let place = 0; place < DIGITS; place += 1) if (stored[place] !== digitOf(sum, place)) return false;
  return true;
}

export function writeChecksum(target: Uint8Array, start: number, text: Uint8Array): void {
  const sum = crc32(text);
  for (let place = 0; place < DIGITS; place += 1) target[start + place] = digitOf(sum, place);
}

/** A value that is not what was written: *unavailable* of kind `damaged`. */
export class DamagedRow extends AppError {
  readonly key: Key;

  constructor(key: Key) {
    super('unavailable', `the stored value ${JSON.stringify(key)} is damaged: run "heddle history verify"`, {
      kind: 'damaged',
      key,
    });
    this.key = key;
  }
}

/** What cannot be read is not there. */
export function spared<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DamagedRow || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
