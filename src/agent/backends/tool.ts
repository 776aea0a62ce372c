// What a tool of a model is: how the model is told about it, and how a call of it is made.

import { z } from 'zod';
import { AppError } from '../../base/errors.ts';
import type { OutputPart } from '../../model/context.ts';
import type { ToolHost, TurnRequest } from '../backend.ts';
import type { ToolSpec } from '../models/client.ts';
import type { ToolCall } from './conversation.ts';

/** What the model is shown of a call. */
export interface ToolAnswer {
  readonly output: string;
  readonly success: boolean;
  /** Where it is more than text. */
  readonly content?: OutputPart[];
}

export interface Tool {
  readonly spec: ToolSpec;
  /**
   * Makes one call. What is wrong with its arguments is an answer. Rejects as *cancelled* when the turn was, and as *cancelled* of
   * kind `turn_cancelled` when somebody ended the turn instead of allowing the call.
   */
  run(call: ToolCall, turn: TurnRequest, tools: ToolHost): Promise<ToolAnswer>;
}

/** The arguments of a call, or what is wrong with them, for the model. */
export function readArguments<Arguments>(
  tool: string,
  type: z.ZodType<Arguments>,
  text: string,
): { readonly given: Arguments } | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `The arguments of ${tool} are no JSON: ${(error as Error).message}` };
  }
  const parsed = type.safeParse(value);
  if (parsed.success) return { given: parsed.data };
  return { problem: `The arguments of ${tool} do not fit: ${z.prettifyError(parsed.error)}` };
}

export const failed = (output: string): ToolAnswer => ({ output, success: false });

export const refused = (tool: string, reason: string): ToolAnswer =>
  failed(`${tool} was refused: ${reason || 'rejected by user'}`);

export const cancelledByAnswer = (): AppError =>
  new AppError('cancelled', 'the turn was ended by the answer to an approval', { kind: 'turn_cancelled' });
