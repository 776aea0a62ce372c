// One turn as it happens, from its start to its end, for whoever started it at a terminal.

import { AppError } from '../base/errors.ts';
import { type Client, paramsOf, type ServerNotification } from '../client/client.ts';
import type { ThreadId, TurnId } from '../model/ids.ts';
import type { Turn } from '../model/turn.ts';
import { itemCompleted, threadClosed, turnCompleted, warning } from '../threads/notifications.ts';
import type { ExecOutput } from './exec-output.ts';

export interface FollowedTurn {
  readonly turn: Turn;
  /** Something that it asked for was refused, by whomever. */
  readonly wasDeclined: boolean;
}

/** Shows what happens until the turn has ended. Rejects as *unavailable* when the thread or the connection is gone before. */
export async function followTurn(
  client: Client,
  notifications: AsyncIterable<ServerNotification>,
  { threadId, turnId }: { readonly threadId: ThreadId; readonly turnId: TurnId },
  output: ExecOutput,
): Promise<FollowedTurn> {
  let wasDeclined = false;
  for await (const notification of notifications) {
    if (concerns(notification, threadId)) output.show(notification);
    const done = paramsOf(notification, itemCompleted);
    if (done?.turnId === turnId && 'status' in done.item) wasDeclined ||= done.item.status === 'declined';
    const said = paramsOf(notification, warning);
    if (said?.threadId === threadId) wasDeclined ||= said.refused === true;
    const ended = paramsOf(notification, turnCompleted);
    if (ended?.turn.id === turnId) return { turn: ended.turn, wasDeclined };
    if (paramsOf(notification, threadClosed)?.threadId === threadId)
      throw new AppError(
        'unavailable',
        'the server had to let go of the thread before the turn ended; its log says why',
      );
  }
  const { text } = await client.closed;
  throw new AppError('unavailable', `the connection ended before the turn did: ${text}`);
}

/** A server tells all its clients when threads come and go; here only one of them matters. */
function concerns({ params }: ServerNotification, threadId: string): boolean {
  const { threadId: id, thread } = (params ?? {}) as { threadId?: unknown; thread?: { id?: unknown } };
  const subject = id ?? thread?.id;
  return typeof subject !== 'string' || subject === threadId;
}
