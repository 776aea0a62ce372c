// The tools that the model of a turn is offered.

import type { TurnRequest } from '../backend.ts';
import { isPlanning } from '../collaboration.ts';
import { clientToolsOf } from './client-tool.ts';
import { commandTool } from './command-tool.ts';
import { fileTools } from './file-tools.ts';
import { imageTool } from './image-tool.ts';
import { resourceTools } from './mcp-resource-tools.ts';
import { mcpToolsOf } from './mcp-tool.ts';
import { patchTool } from './patch-tool.ts';
import { permissionsTool } from './permissions-tool.ts';
import { planTool } from './plan-tool.ts';
import { stdinTool } from './stdin-tool.ts';
import type { Tool } from './tool.ts';
import { userInputTool } from './user-input-tool.ts';

const ALWAYS: readonly Tool[] = [commandTool, stdinTool, patchTool, permissionsTool, userInputTool];

/** Names that no client may give to a tool of its own. */
export const OWN_TOOLS: ReadonlySet<string> = new Set([...ALWAYS, planTool, imageTool].map(({ spec }) => spec.name));

const IN_ENVIRONMENT: ReadonlySet<Tool> = new Set([commandTool, patchTool, permissionsTool, imageTool, ...fileTools]);

/** Those that the model is told about: without an environment there is nothing to run, to read or to change. */
export const offeredTools = (turn: TurnRequest, wish: { readonly fileTools: boolean }): readonly Tool[] =>
  toolsOf(turn).filter(
    (tool) =>
      (turn.settings.hasEnvironment || !IN_ENVIRONMENT.has(tool)) &&
      (wish.fileTools || !fileTools.includes(tool)) &&
      (turn.hasMcpResources?.() || !resourceTools.includes(tool)),
  );

/** In the order in which the model is told about them; names are unique. */
export function toolsOf(turn: TurnRequest): readonly Tool[] {
  const declared = clientToolsOf(turn.settings);
  const ofClient = new Set(declared.map(({ spec }) => spec.name));
  const own = [
    ...ALWAYS,
    // Who plans together with the user shows no list of steps: the plan is the message.
    ...(isPlanning(turn.settings) ? [] : [planTool]),
    ...(turn.isBlind ? [] : [imageTool]),
    // Clients may have better ones of these names.
    ...[...fileTools, ...(turn.hasMcpResources ? resourceTools : [])].filter(({ spec }) => !ofClient.has(spec.name)),
    ...declared,
  ];
  const taken = new Set(own.map(({ spec }) => spec.name));
  return [...own, ...mcpToolsOf(turn).filter(({ spec }) => !taken.has(spec.name))];
}
