// The one kind of error that crosses rooms: a kind from a closed list, a message for people, data for programs.

export const ERROR_KINDS = [
  'parse',
  'badRequest',
  'unknownMethod',
  'invalid',
  'notFound',
  'conflict',
  'notInitialized',
  'unauthenticated',
  'forbidden',
  'unsupported',
  'unavailable',
  'overloaded',
  'notSettled',
  'cancelled',
  'internal',
] as const;

export type ErrorKind = (typeof ERROR_KINDS)[number];

export interface ErrorData {
  /** Replaces the kind on the wire where clients branch on something finer, e.g. `stale_cursor`. */
  readonly kind?: string;
  /** Some of the effect may have been had. */
  readonly isPartial?: boolean;
  readonly threadId?: string;
  readonly turnId?: string;
  readonly itemId?: string;
  readonly [member: string]: unknown;
}

/** Anything else that is thrown is a defect: it is logged whole and leaves the process as *internal*, without its text. */
export class AppError extends Error {
  override readonly name: string = 'AppError';
  readonly kind: ErrorKind;
  readonly data: ErrorData;

  constructor(kind: ErrorKind, message: string, data: ErrorData = {}, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.data = data;
  }
}

export function isAppError(error: unknown, kind?: ErrorKind): error is AppError {
  return error instanceof AppError && (kind === undefined || error.kind === kind);
}

/** The text of anything thrown, for logs and for errors that carry it on. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What to do about a disk that refuses a write; undefined: it says something else. Takes the numbers of libraries too. */
export function diskAdvice(error: unknown): string | undefined {
  switch ((error as { code?: unknown } | null | undefined)?.code) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 28:
      return 'the disk is full: make room';
    case 'EROFS':
    case 30:
      return 'the file system takes no writes: make it writable';
    default:
      return undefined;
  }
}

/** The `code` of a system error such as ENOENT, if it has one. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
