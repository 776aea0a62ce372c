// The one table between kinds of errors and JSON-RPC codes.

import { AppError, ERROR_KINDS, type ErrorKind } from '../base/errors.ts';

const CODES: Record<ErrorKind, number> = {
  parse: -32700,
  badRequest: -32600,
  unknownMethod: -32601,
  unsupported: -32601,
  invalid: -32602,
  internal: -32603,
  unavailable: -32603,
  cancelled: -32603,
  overloaded: -32001,
  notInitialized: -32002,
  notFound: -32004,
  conflict: -32009,
  notSettled: -32010,
  unauthenticated: -32600,
  forbidden: -32600,
};

/** How each kind is called on the wire, where its own name is not the word clients know. */
const NAMES: Partial<Record<ErrorKind, string>> = {
  badRequest: 'invalid_request',
  unknownMethod: 'method_not_found',
  invalid: 'invalid_params',
  notInitialized: 'not_initialized',
  notFound: 'not_found',
  notSettled: 'not_settled',
};

const RETRYABLE: ReadonlySet<ErrorKind> = new Set(['overloaded', 'notSettled', 'unavailable']);

/** How long an overloaded server asks clients to wait, in milliseconds. */
const OVERLOAD_PAUSE_MS = 250;

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export const INTERNAL_TEXT = 'internal error; the server log has the details';

export function wireError(error: AppError): WireError {
  const pause =
    error.kind === 'overloaded' ? { retry_after_ms: OVERLOAD_PAUSE_MS, retryAfterMs: OVERLOAD_PAUSE_MS } : {};
  return {
    code: CODES[error.kind],
    message: error.message,
    data: { kind: NAMES[error.kind] ?? error.kind, retryable: RETRYABLE.has(error.kind), ...pause, ...error.data },
  };
}

/** The kind that has this code and, on the wire, this name; several kinds share a code. */
export function kindCalled(name: unknown, code: unknown): ErrorKind | undefined {
  return ERROR_KINDS.find((kind) => CODES[kind] === code && (NAMES[kind] ?? kind) === name);
}

/** An error that came over the wire, as our own kind of error; `data` is kept. */
export function fromWire(error: unknown): AppError {
  const { code, message, data } = (error ?? {}) as { code?: unknown; message?: unknown; data?: unknown };
  const entry = Object.entries(CODES).find(([kind, value]) => value === code && kind !== 'unauthenticated');
  const kind = (entry?.[0] ?? 'internal') as ErrorKind;
  const members = data !== null && typeof data === 'object' ? (data as Record<string, unknown>) : {};
  return new AppError(kind, typeof message === 'string' ? message : 'the other side failed without a message', {
    ...members,
    code,
  });
}
