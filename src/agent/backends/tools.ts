// The tools that the model of a turn is offered.

import type { TurnRequest } from '../backend.ts';
import { commandTool } from './command-tool.ts';
import { patchTool } from './patch-tool.ts';
import type { Tool } from './tool.ts';

const ALWAYS: readonly Tool[] = [commandTool, patchTool];

/** In the order in which the model is told about them; names are unique. */
export function toolsOf(_turn: TurnRequest): readonly Tool[] {
  return ALWAYS;
}
