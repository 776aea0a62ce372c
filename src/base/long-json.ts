// JSON of values with very long texts in them, made without holding a second and a third copy of those texts.

import { randomUUID } from 'node:crypto';

/** Characters of a text from which on it is written piece by piece. */
const LONG = 64 * 1024;
/** Characters that are escaped and encoded at once. */
const PIECE = 16 * 1024;
/** Stands for a long text until that is written; nobody else can know it. */
const MARK = `long text ${randomUUID()}`;

/** Whether a string of more than so many characters lies anywhere in the value. */
export function hasTextOver(characters: number, value: unknown): boolean {
  if (typeof value === 'string') return value.length > characters;
  if (value === null || typeof value !== 'object') return false;
  for (const name in value) if (hasTextOver(characters, (value as Record<string, unknown>)[name])) return true;
  return false;
}

/** The bytes of `JSON.stringify(value)` when there are long texts in it, else undefined. */
export function longJson(value: object): Buffer | undefined {
  if (!hasTextOver(LONG, value)) return undefined;
  const texts: string[] = [];
  const frame = JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member !== 'string' || member.length <= LONG) return member;
    texts.push(member);
    return MARK;
  });
  const between = frame.split(JSON.stringify(MARK));
  let size = Buffer.byteLength(frame) - texts.length * MARK.length;
  for (const text of texts) for (const piece of escaped(text)) size += Buffer.byteLength(piece);
  const bytes = Buffer.allocUnsafeSlow(size);
  let at = bytes.write(between[0] as string);
  texts.forEach((text, index) => {
    at += bytes.write('"', at);
    for (const piece of escaped(text)) at += bytes.write(piece, at);
    at += bytes.write(`"${between[index + 1]}`, at);
  });
  return bytes;
}

/** The text as it stands between the quotes, in pieces that part no character. */
function* escaped(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const isPair = (text.charCodeAt(from + PIECE - 1) & 0xfc00) === 0xd800;
    const to = from + PIECE - (isPair ? 1 : 0);
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
  }
}
