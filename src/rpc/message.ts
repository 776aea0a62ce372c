// Text frames to JSON-RPC messages and back; ids are kept exactly as they came.

import { AppError } from '../base/errors.ts';

/** The JSON text of an id: `"1"` and `1` are different, and integers beyond 2^53 stay what they were. */
export type RawId = string;

export interface RequestMessage {
  readonly kind: 'request';
  readonly id: RawId;
  readonly method: string;
  readonly params: unknown;
}

export interface NotificationMessage {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: unknown;
  /** The place of an event in the log of its thread. */
  readonly seq?: number;
  /** Epoch milliseconds. */
  readonly emittedAtMs?: number;
}

export interface ResponseMessage {
  readonly kind: 'response';
  readonly id: RawId;
  /** Exactly one of both; a message with both or neither is not a response. */
  readonly result?: unknown;
  readonly error?: unknown;
}

export interface InvalidMessage {
  readonly kind: 'invalid';
  readonly id: RawId;
  readonly error: AppError;
}

export type Message = RequestMessage | NotificationMessage | ResponseMessage | InvalidMessage;

export interface ParsedFrame {
  readonly message: Message;
  /** The frame had a `jsonrpc` member. */
  readonly hasVersion: boolean;
}

const NO_ID: RawId = 'null';

export function parseFrame(frame: string): ParsedFrame {
  let value: unknown;
  try {
    value = JSON.parse(frame);
  } catch {
    return invalid(NO_ID, new AppError('parse', 'this frame is not JSON'));
  }
  if (Array.isArray(value))
    return invalid(NO_ID, new AppError('badRequest', 'batches are not supported: send one message a frame'));
  if (value === null || typeof value !== 'object')
    return invalid(NO_ID, new AppError('badRequest', 'a message is a JSON object'));
  const members = value as Record<string, unknown>;
  const version = Object.hasOwn(members, 'jsonrpc') ? members.jsonrpc : undefined;
  const hasVersion = version !== undefined;
  if (hasVersion && version !== '2.0') {
    return invalid(idOf(members, frame) ?? NO_ID, new AppError('badRequest', 'jsonrpc is "2.0" or left out'), true);
  }
  return { message: messageOfMembers(members, frame), hasVersion };
}

function messageOfMembers(members: Record<string, unknown>, frame: string): Message {
  const hasId = Object.hasOwn(members, 'id');
  const id = hasId ? idOf(members, frame) : undefined;
  if (hasId && id === undefined)
    return invalid(NO_ID, new AppError('badRequest', 'an id is a string or an integer')).message;
  if (Object.hasOwn(members, 'method')) {
    const { method, params } = members;
    if (typeof method !== 'string')
      return invalid(id ?? NO_ID, new AppError('badRequest', 'method is a string')).message;
    return id === undefined
      ? { kind: 'notification', method, params, ...placeOf(members) }
      : { kind: 'request', id, method, params };
  }
  const hasResult = Object.hasOwn(members, 'result');
  const hasError = Object.hasOwn(members, 'error');
  if (id !== undefined && hasResult !== hasError) {
    return hasResult
      ? { kind: 'response', id, result: members.result }
      : { kind: 'response', id, error: members.error };
  }
  if (id !== undefined && hasResult && hasError) return { kind: 'response', id, error: members.error };
  return invalid(id ?? NO_ID, new AppError('badRequest', 'a message has a method, or an id with a result or an error'))
    .message;
}

function placeOf({ seq, emittedAtMs }: Record<string, unknown>): Pick<NotificationMessage, 'seq' | 'emittedAtMs'> {
  return {
    ...(Number.isSafeInteger(seq) ? { seq: seq as number } : {}),
    ...(typeof emittedAtMs === 'number' ? { emittedAtMs } : {}),
  };
}

function invalid(id: RawId, error: AppError, hasVersion = false): ParsedFrame {
  return { message: { kind: 'invalid', id, error }, hasVersion };
}

function idOf(members: Record<string, unknown>, frame: string): RawId | undefined {
  const { id } = members;
  if (typeof id === 'string') return JSON.stringify(id);
  if (typeof id !== 'number') return undefined;
  if (Number.isSafeInteger(id)) return Object.is(id, -0) ? '-0' : String(id);
  const digits = topLevelNumber(frame, 'id');
  return digits !== undefined && isInteger(digits) ? digits : undefined;
}

/**
 * The text of a numeric member at depth one of valid JSON; the last one counts, as in JSON.parse. Read character by character:
 * a regular expression runs out of stack in a text of many megabytes.
 */
function topLevelNumber(frame: string, name: string): string | undefined {
  let depth = 0;
  let key: string | undefined;
  let found: string | undefined;
  for (let at = 0; at < frame.length; ) {
    const character = frame[at]!;
    let end = at + 1;
    if (character === '"') {
      end = endOfString(frame, at);
      // In place of a value it is taken for a key until the next one comes, which harms nothing.
      if (depth === 1) key = isShort(at, end, name) ? (JSON.parse(frame.slice(at, end)) as string) : undefined;
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    else if (depth === 1 && (character === '-' || isDigit(character))) {
      while (end < frame.length && !',} \t\r\n'.includes(frame[end]!)) end += 1;
      if (key === name) found = frame.slice(at, end);
    }
    at = end;
  }
  return found;
}

/** The place behind the closing quote of the string that opens at `from`. */
function endOfString(frame: string, from: number): number {
  let at = from + 1;
  while (at < frame.length && frame[at] !== '"') at += frame[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** Short enough to be this name, each character perhaps written as an escape. */
const isShort = (from: number, end: number, name: string): boolean => end - from <= name.length * 6 + 2;

const isDigit = (character: string): boolean => character >= '0' && character <= '9';

function isInteger(text: string): boolean {
  const first = text[0] === '-' ? 1 : 0;
  for (let at = first; at < text.length; at += 1) if (!isDigit(text[at]!)) return false;
  return text.length > first;
}

/** A request id near the start of a frame that was too long to read, as raw JSON text. */
export function idNearStart(start: string): RawId {
  const match =
    /^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*[,}]/.exec(start);
  return match?.[1] ?? NO_ID;
}

const version = (echo: boolean): string => (echo ? '"jsonrpc":"2.0",' : '');

export function resultFrame(id: RawId, result: string, echoVersion: boolean): string {
  return `{${version(echoVersion)}"id":${id},"result":${result}}`;
}

/** Text of ASCII, or bytes that stand for their base64. */
export type ResultPiece = string | Buffer;

/** Its base64 is a string that the engine's heap has room for at once, instead of memory of its own that collections are started by. */
const ENCODED_AT_ONCE = 48 * 1024;

/** The same as bytes, from pieces: joining large texts costs more than writing them. */
export function resultBytes(id: RawId, result: readonly ResultPiece[], echoVersion: boolean): Buffer {
  const head = Buffer.from(`{${version(echoVersion)}"id":${id},"result":`);
  const frame = Buffer.allocUnsafeSlow(result.reduce((sum, piece) => sum + encodedLength(piece), head.length + 1));
  head.copy(frame);
  let at = head.length;
  for (const piece of result)
    at += typeof piece === 'string' ? frame.write(piece, at, 'latin1') : encode(piece, frame, at);
  frame.write('}', at);
  return frame;
}

const encodedLength = (piece: ResultPiece): number =>
  typeof piece === 'string' ? piece.length : Math.ceil(piece.length / 3) * 4;

/** The number of bytes written. */
function encode(data: Buffer, frame: Buffer, start: number): number {
  let at = start;
  for (let from = 0; from < data.length; from += ENCODED_AT_ONCE)
    at += frame.write(data.toString('base64', from, from + ENCODED_AT_ONCE), at, 'latin1');
  return at - start;
}

export function errorFrame(id: RawId, error: object, echoVersion: boolean): string {
  return `{${version(echoVersion)}"error":${JSON.stringify(error)},"id":${id}}`;
}

export function requestFrame(id: RawId, method: string, params: unknown, echoVersion: boolean): string {
  return `{${version(echoVersion)}"method":${JSON.stringify(method)},"id":${id},"params":${JSON.stringify(params ?? {})}}`;
}

/** `emittedAtMs` is epoch milliseconds. `seq` is there on events of a thread. */
export function notificationFrame(method: string, params: string, emittedAtMs: number, seq?: number): string {
  const place = seq === undefined ? '' : `,"seq":${seq}`;
  return `{"method":${JSON.stringify(method)},"params":${params},"emittedAtMs":${emittedAtMs}${place}}`;
}

/** The same frame for a connection that writes the version. */
export function withVersion(frame: string): string {
  return `{"jsonrpc":"2.0",${frame.slice(1)}`;
}
