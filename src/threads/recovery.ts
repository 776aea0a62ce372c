// What is stored about a thread that is loaded after the server has stopped, polite or not.

import type { ItemId, TurnId } from '../model/ids.ts';
import type { RuntimeParts } from './runtime-parts.ts';
import { isEveryCallAsked, onlyWaitsForPeople, passing } from './state.ts';
import { terminalEndings } from './terminals.ts';
import type { ThreadLog } from './thread-log.ts';
import { endingEvents } from './turn-ending.ts';

/**
 * Stores the ends of commands that were left running, of questions that MCP servers had asked, and of a turn that was cut off. Gives the id of a turn that goes on, because
 * it only waits for people: its questions can be answered from then on.
 */
export async function recover(
  log: ThreadLog,
  { store, clock, tools }: RuntimeParts,
  texts: ReadonlyMap<ItemId, string>,
): Promise<TurnId | undefined> {
  const { meta, head } = log.accepted;
  const asides = meta.asides.map(({ approvalId: id, nonce, requestId }) => ({
    proposal: { id, nonce, turnId: '' },
    requestId,
  }));
  const endings = [...tools.broker.dismiss(asides, true), ...(await terminalEndings(store, meta, head, clock.now()))];
  if (endings.length > 0) await log.append(endings);
  const thread = log.accepted;
  if (!thread.turn) return undefined;
  const context = await log.context();
  const questions = [...thread.turn.questions.values()];
  if (onlyWaitsForPeople(thread.turn) && isEveryCallAsked(thread.turn, context)) {
    const gone = passing(thread.turn);
    if (gone.length > 0) await log.append(tools.broker.dismiss(gone, true));
    for (const { proposal } of log.accepted.turn?.questions.values() ?? []) tools.broker.revive(proposal);
    return thread.turn.id;
  }
  const end = { status: 'interrupted' as const };
  const ending = { end, atMs: clock.now(), texts, isRecovered: true, context };
  await log.append([...tools.broker.dismiss(questions), ...endingEvents(thread, thread.turn, ending)]);
  return undefined;
}
