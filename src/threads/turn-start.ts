// How a turn begins: its first events, for what a client sends and for what the user runs without asking the model.

import type { EventOf, ThreadEvent } from '../model/event.ts';
import { newId, type TurnId } from '../model/ids.ts';
import { previewOf, type UserInput } from '../model/input.ts';
import { messageEvents } from './steering.ts';

export interface TurnInput {
  readonly turnId: TurnId;
  readonly rootTurnId: TurnId | undefined;
  readonly input: readonly UserInput[];
  readonly clientId: string | null;
  readonly outputSchema: unknown;
  /** Somebody under the operator's ceiling begins it. */
  readonly isCapped: boolean;
  /** What the model is shown before the input, and nobody else is. */
  readonly beside?: readonly UserInput[];
  /** Settings of this turn alone. */
  readonly own?: EventOf<'turnStarted'>['own'];
}

export type SteerInput = Pick<TurnInput, 'input' | 'clientId' | 'isCapped' | 'beside'>;

/** `shown`: what the model is shown of the input, where that is something else. */
export function startEvents(turn: TurnInput, shown: UserInput[] | undefined, atMs: number): ThreadEvent[] {
  const { turnId, input, clientId, outputSchema } = turn;
  const started: ThreadEvent = {
    type: 'turnStarted',
    turnId,
    rootTurnId: turn.rootTurnId ?? turnId,
    startedAtMs: atMs,
    preview: previewOf(input),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(turn.isCapped ? { isCapped: true as const } : {}),
    ...(turn.own ? { own: turn.own } : {}),
  };
  const content = [...input];
  const message = { turnId, itemId: newId(), content, clientId, ...(shown ? { shown } : {}) };
  return input.length === 0 ? [started] : [started, ...messageEvents(message, atMs)];
}

/** A turn without input. */
export const emptyTurn = (turnId: TurnId, isCapped = false): TurnInput => ({
  turnId,
  rootTurnId: undefined,
  input: [],
  clientId: null,
  outputSchema: undefined,
  isCapped,
});

/** Input that a running turn has accepted. */
export function steeredEvent(
  turnId: TurnId,
  { input, clientId, isCapped }: SteerInput,
  shown: UserInput[] | undefined,
): EventOf<'steered'> {
  const capped = isCapped ? { isCapped: true as const } : {};
  return {
    type: 'steered',
    turnId,
    itemId: newId(),
    clientId,
    content: [...input],
    ...(shown ? { shown } : {}),
    ...capped,
  };
}
