// The two marks of what we start, which it hands down to all that it starts: one in its environment, one in a limit of the system.

import { randomBytes } from 'node:crypto';

/** The environment variable that every child of this program carries, and so every descendant that keeps its environment. */
export const MARK_VARIABLE = 'HEDDLE_CHILD';

/** Marks of one starter of children. */
export interface Marks {
  /** What all of them begin with; nobody else's do. */
  readonly family: string;
  /** One that no other child of the family has. */
  next(): string;
}

/** Digits, of four bits each, in the limit: what tells our marks from real limits, the family, the child. */
const [KIND, FAMILY_DIGITS, CHILD_DIGITS] = ['4', 8, 7] as const;
const SHAPE = /^([\da-f]{24})\.([\da-f]{0,7})$/;
const CHILDREN = 16 ** CHILD_DIGITS;

/** The line of a process's table of limits that holds the mark, and where in that line the soft limit begins. */
const [LINE, VALUE_AT, VALUE_LENGTH] = ['Max realtime timeout', 26, 20] as const;

export function createMarks(): Marks {
  const family = `${randomBytes(12).toString('hex')}.`;
  let count = 0;
  return {
    family,
    next() {
      count = (count + 1) % CHILDREN;
      return `${family}${count.toString(16).padStart(CHILD_DIGITS, '0')}`;
    },
  };
}

/** A mark as a soft limit on the time of real-time threads, in microseconds: some hundred thousand years, which limits nothing. */
export function limitOf(mark: string): bigint | undefined {
  const digits = digitsOf(mark);
  return digits?.length === 1 + FAMILY_DIGITS + CHILD_DIGITS ? BigInt(`0x${digits}`) : undefined;
}

/** The mark that begins with `prefix`, a family or one of its marks, in a process's table of limits. */
export function markInLimits(table: string, prefix: string): string | undefined {
  const at = table.indexOf(LINE);
  const value = at < 0 ? '' : table.slice(at + VALUE_AT, at + VALUE_AT + VALUE_LENGTH).trim();
  if (!/^[1-9]\d*$/.test(value)) return undefined; // it is unlimited, as it usually is
  const [digits, wanted] = [BigInt(value).toString(16).padStart(16, '0'), digitsOf(prefix)];
  if (wanted === undefined || !digits.startsWith(wanted)) return undefined;
  return `${prefix.slice(0, prefix.indexOf('.') + 1)}${digits.slice(1 + FAMILY_DIGITS)}`;
}

function digitsOf(prefix: string): string | undefined {
  const [, family, child] = SHAPE.exec(prefix) ?? [];
  return family === undefined ? undefined : `${KIND}${family.slice(0, FAMILY_DIGITS)}${child}`;
}
