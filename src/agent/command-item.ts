// The item of a command that has ended.

import type { ItemOf } from '../model/item.ts';
import type { RunResult } from '../process/run.ts';

type CommandItem = ItemOf<'commandExecution'>;

/** As its result tells it. */
export function endedCommand(item: CommandItem, result: RunResult, completedAtMs: number): CommandItem {
  return {
    ...item,
    status: result.exitCode === 0 && !result.aborted ? 'completed' : 'failed',
    aggregatedOutput: result.outputBytes === 0 ? null : result.output,
    exitCode: result.exitCode,
    durationMs: Math.round(result.durationMs),
    ...(result.isCapped ? { outputCapped: true } : {}),
    completedAtMs,
  };
}
