// Token counts of one response in the form that threads keep.

import type { TokenUsage } from '../../model/turn.ts';

/** `input` includes what was cached and written to the cache, `output` includes reasoning. */
export function usageOf(counts: {
  readonly input: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly output: number;
  readonly reasoning: number;
}): TokenUsage {
  return {
    totalTokens: counts.input + counts.output,
    inputTokens: counts.input,
    cachedInputTokens: counts.cached,
    cacheWriteInputTokens: counts.cacheWritten,
    outputTokens: counts.output,
    reasoningOutputTokens: counts.reasoning,
  };
}
