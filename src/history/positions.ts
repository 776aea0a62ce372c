// Places in an order that can be changed by moving one: strings between which there is always another.

/** In the order of their characters. */
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = DIGITS.length;
/** Digits before the fraction: places at either end cost no length. */
const WHOLE = 6;
const MIDDLE = 'U';
/** Longer places would outgrow the keys of the database. */
const LONGEST = 1024;

const digitAt = (place: string, index: number): number => Math.max(0, DIGITS.indexOf(place[index] ?? '0'));

/** Behind every place that begins as this one; undefined: the first place of an empty order. */
export function behind(place: string | undefined): string {
  return place === undefined ? MIDDLE.repeat(WHOLE) : stepped(place, 1);
}

/** A place before this one. */
export const ahead = (place: string): string => stepped(place, -1);

/** A place between two of which the first is lower; undefined when there is no room for a reasonable one. */
export function between(low: string, high: string): string | undefined {
  if (low >= high) return undefined;
  let place = '';
  for (let index = 0; ; index += 1) {
    const [from, to] = [digitAt(low, index), digitAt(high, index)];
    if (from === to) {
      place += DIGITS[from];
      continue;
    }
    const middle = (from + to) >>> 1;
    if (middle > from) return fitting(place + DIGITS[middle]);
    // Neighbouring digits: the place continues the lower one, and nothing above it matters any more.
    return fitting(above(low, place + DIGITS[from]));
  }
}

/** A continuation of `start`, a beginning of `low` or a lower place's equal, that lies above `low`. */
function above(low: string, start: string): string {
  let place = start;
  for (let index = start.length; ; index += 1) {
    const middle = (digitAt(low, index) + BASE) >>> 1;
    place += DIGITS[middle];
    if (middle > digitAt(low, index)) return place;
  }
}

const fitting = (place: string): string | undefined => (place.length > LONGEST ? undefined : place);

function stepped(place: string, step: 1 | -1): string {
  const digits = Array.from({ length: WHOLE }, (_, index) => digitAt(place, index));
  for (let index = WHOLE - 1; index >= 0; index -= 1) {
    const digit = (digits[index] as number) + step;
    digits[index] = (digit + BASE) % BASE;
    if (digit >= 0 && digit < BASE) break;
  }
  return digits.map((digit) => DIGITS[digit]).join('');
}
