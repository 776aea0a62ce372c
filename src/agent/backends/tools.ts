// The tools that the model of a turn is offered.

import type { TurnRequest } from '../backend.ts';
import { commandTool } from './command-tool.ts';
import { patchTool } from './patch-tool.ts';
import { permissionsTool } from './permissions-tool.ts';
import type { Tool } from './tool.ts';
import { userInputTool } from './user-input-tool.ts';

const ALWAYS: readonly Tool[] = [commandTool, patchTool, permissionsTool, userInputTool];

/** In the order in which the model is told about them; names are unique. */
export function toolsOf(_turn: TurnRequest): readonly Tool[] {
  return ALWAYS;
}
