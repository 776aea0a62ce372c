// Token counts of one response in the form that threads keep.

import type { TokenUsage } from '../../model/turn.ts';
import { countOf } from './loose.ts';

/** `input` includes what was cached and written to the cache, `output` includes reasoning. Providers may say anything: counts stay counts. */
export function usageOf(counts: {
  readonly input: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly output: number;
  readonly reasoning: number;
}): TokenUsage {
  const [input, output] = [countOf(counts.input), countOf(counts.output)];
  return {
    totalTokens: input + output,
    inputTokens: input,
    cachedInputTokens: countOf(counts.cached),
    cacheWriteInputTokens: countOf(counts.cacheWritten),
    outputTokens: output,
    reasoningOutputTokens: countOf(counts.reasoning),
  };
}
