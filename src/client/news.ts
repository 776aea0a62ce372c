// What the server tells, as clients read it: typed, in order, and with every gap told as one.

import type { NotificationMessage } from '../rpc/message.ts';
import type { RequestError } from './errors.ts';
import { threadIdOf } from './places.ts';
import { NOTIFICATIONS, type NotificationName, type NotificationParams, type RequestResult } from './typed.ts';

export interface Gap {
  readonly threadId: string;
  /** The last event that was told before it; undefined: it is not known where the thread stood. */
  readonly after: number | undefined;
  /** What is told from now on comes behind this one. */
  readonly headSeq: number;
  /** The thread as it is now, with its turns. */
  readonly thread: RequestResult<'thread/resume'>['thread'];
}

/** News that the client itself adds to those of the server. */
interface OwnNews {
  /** Events that the server no longer has, or could not be asked for, are missing here. */
  'client/gap': Gap;
  /** The thread cannot be listened to any more: it was deleted or archived while the client was away. */
  'client/lost': { readonly threadId: string; readonly error: RequestError };
}

export type NewsName = NotificationName | keyof OwnNews;

export type NewsParams<M extends NewsName> = M extends NotificationName
  ? NotificationParams<M>
  : M extends keyof OwnNews
    ? OwnNews[M]
    : never;

export type News<M extends NewsName = NewsName> = {
  [N in M]: {
    readonly method: N;
    readonly params: NewsParams<N>;
    /** The place in the log of the thread; what only shows a state has none. */
    readonly seq?: number;
    /** Epoch milliseconds. */
    readonly emittedAtMs?: number;
  };
}[M];

/** Undefined: it is not declared, or has not the agreed shape. */
export function newsOf(message: NotificationMessage): News | undefined {
  const { method, params, seq, emittedAtMs } = message;
  const parsed = NOTIFICATIONS.get(method)?.params().safeParse(params);
  if (!parsed?.success) return undefined;
  const place = {
    ...(seq === undefined ? {} : { seq }),
    ...(emittedAtMs === undefined ? {} : { emittedAtMs }),
  };
  return { method, params: parsed.data, ...place } as News;
}

export const isOfThread = ({ method, params }: News, threadId: string): boolean =>
  threadIdOf(params) === threadId || (method === 'thread/started' && params.thread.id === threadId);

export function turnIdOf({ params }: News): string | undefined {
  const { turnId, turn } = params as { turnId?: string | null; turn?: { id: string } };
  return turnId ?? turn?.id;
}
