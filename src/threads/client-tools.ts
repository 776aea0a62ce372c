// The tools that a client declares with a thread, checked when it does.

import { OWN_TOOLS } from '../agent/backends/tools.ts';
import { AppError, messageOf } from '../base/errors.ts';
import { argumentsShape, type ClientFunction, type ClientTool, clientFunctions } from '../model/client-tool.ts';

const NAME = /^[a-zA-Z0-9_-]+$/;
/** As long as providers take names. */
const MAX_NAME = 64;

/** Rejects as *invalid* what no model could be offered, or what could not be checked when a model calls it. */
export function checkClientTools(tools: readonly ClientTool[]): void {
  for (const { name } of tools) checkName(name);
  const taken = new Set<string>(OWN_TOOLS);
  for (const each of clientFunctions(tools)) {
    checkName(each.tool);
    if (each.modelName.length > MAX_NAME)
      throw new AppError('invalid', `dynamic tool name has more than ${MAX_NAME} characters: ${shown(each.modelName)}`);
    if (taken.has(each.modelName))
      throw new AppError('invalid', `there is more than one tool of the name ${shown(each.modelName)}`);
    taken.add(each.modelName);
    checkSchema(each);
  }
}

function checkName(name: string): void {
  if (!NAME.test(name))
    throw new AppError('invalid', `dynamic tool name must match ${NAME.source} to match Responses API: ${shown(name)}`);
}

function checkSchema({ modelName, inputSchema }: ClientFunction): void {
  try {
    argumentsShape(inputSchema);
  } catch (error) {
    throw new AppError('invalid', `the inputSchema of ${shown(modelName)} cannot be checked: ${messageOf(error)}`);
  }
}

const shown = (name: string): string => name.slice(0, 100);
