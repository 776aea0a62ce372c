// What the model is shown of a command that runs or has ended.

import type { CommandReading } from '../backend.ts';
import { shortened, tokensIn } from './output-text.ts';
import type { ToolAnswer } from './tool.ts';

/** Output that the model is shown at most, in tokens. */
export const MAX_OUTPUT_TOKENS = 10_000;

export function readingAnswer(reading: CommandReading, maxTokens = MAX_OUTPUT_TOKENS): ToolAnswer {
  const output = [
    `Wall time: ${(reading.durationMs / 1000).toFixed(3)} seconds`,
    stateOf(reading),
    `Original token count: ${tokensIn(reading.output)}`,
    'Output:',
    shortened(reading.output, Math.min(maxTokens, MAX_OUTPUT_TOKENS)),
  ].join('\n');
  return { output, success: reading.kind === 'running' || (reading.exitCode === 0 && !reading.timedOut) };
}

function stateOf(reading: CommandReading): string {
  if (reading.kind === 'running') return `Process running with session ID ${reading.session}`;
  return `Process exited with code ${reading.exitCode}${reading.timedOut ? ' (ended after its time limit)' : ''}`;
}
