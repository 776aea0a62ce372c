// One request of a user and everything done for it.

import { z } from 'zod';
import { Item } from './item.ts';
import { type Infer, schema } from './schema.ts';

const httpStatus = z.object({ httpStatusCode: z.int().nullable() });

/** Why a turn failed, in the words that clients of the reference branch on. */
export const ErrorInfo = schema(() =>
  z.union([
    z.enum([
      'contextWindowExceeded',
      'sessionBudgetExceeded',
      'usageLimitExceeded',
      'serverOverloaded',
      'internalServerError',
      'unauthorized',
      'badRequest',
      'sandboxError',
      'other',
    ]),
    z.object({ httpConnectionFailed: httpStatus }),
    z.object({ responseStreamConnectionFailed: httpStatus }),
    z.object({ responseStreamDisconnected: httpStatus }),
    z.object({ responseTooManyFailedAttempts: httpStatus }),
    z.object({ activeTurnNotSteerable: z.object({ turnKind: z.enum(['compact', 'review']) }) }),
  ]),
);
export type ErrorInfo = Infer<typeof ErrorInfo>;

export const TurnError = schema(() =>
  z.object({
    message: z.string(),
    codexErrorInfo: ErrorInfo().nullable(),
    additionalDetails: z.string().nullable(),
    misalignment: z.null(),
  }),
);
export type TurnError = Infer<typeof TurnError>;

export function turnError(message: string, info: ErrorInfo | null, details: string | null = null): TurnError {
  return { message, codexErrorInfo: info, additionalDetails: details, misalignment: null };
}

export const TurnStatus = schema(() => z.enum(['inProgress', 'completed', 'interrupted', 'failed']));
export type TurnStatus = Infer<typeof TurnStatus>;

export const ItemsView = schema(() => z.enum(['notLoaded', 'summary', 'full']));
export type ItemsView = Infer<typeof ItemsView>;

export const Turn = schema(() =>
  z.object({
    id: z.string(),
    rootTurnId: z.string().nullable(),
    items: z.array(Item()),
    itemsView: ItemsView(),
    status: TurnStatus(),
    error: TurnError().nullable(),
    /** Epoch seconds. */
    startedAt: z.int().nullable(),
    completedAt: z.int().nullable(),
    durationMs: z.int().nullable(),
  }),
);
export type Turn = Infer<typeof Turn>;

export const TokenUsage = schema(() =>
  z.object({
    totalTokens: z.int(),
    inputTokens: z.int(),
    cachedInputTokens: z.int(),
    cacheWriteInputTokens: z.int(),
    outputTokens: z.int(),
    reasoningOutputTokens: z.int(),
  }),
);
export type TokenUsage = Infer<typeof TokenUsage>;

export const NO_USAGE: TokenUsage = {
  totalTokens: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningOutputTokens: 0,
};

export function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    totalTokens: a.totalTokens + b.totalTokens,
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteInputTokens: a.cacheWriteInputTokens + b.cacheWriteInputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningOutputTokens: a.reasoningOutputTokens + b.reasoningOutputTokens,
  };
}
