// The tool that asks people for more than the sandbox allows: what the model is told about it, how its arguments are read, what it gets back.

import { z } from 'zod';
import { type Infer, schema } from '../../model/schema.ts';
import type { PermissionReply, PermissionWish, ToolHost, TurnRequest } from '../backend.ts';
import type { ToolSpec } from '../models/client.ts';
import type { ToolCall } from './conversation.ts';
import { failed, readArguments, type Tool, type ToolAnswer } from './tool.ts';

const PERMISSIONS_TOOL = 'request_permissions';

const paths = (description: string) => ({ type: 'array', items: { type: 'string' }, description });

/** JSON Schema of permissions, as models write them. */
export const permissionsParameter = {
  type: 'object',
  properties: {
    network: {
      type: 'object',
      properties: { enabled: { type: 'boolean', description: 'True asks for the network.' } },
      additionalProperties: false,
    },
    file_system: {
      type: 'object',
      properties: {
        read: paths('Files and folders to see, with all below them.'),
        write: paths('Files and folders to change, with all below them.'),
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
} as const;

const permissionsSpec: ToolSpec = {
  name: PERMISSIONS_TOOL,
  description:
    'Asks the user to let sandboxed commands and patches do more, and waits for the answer. What is granted, perhaps only a part, ' +
    'comes back and holds for the rest of the turn or longer.',
  parameters: {
    type: 'object',
    properties: {
      permissions: { ...permissionsParameter, description: 'What to ask for; no more than the task needs.' },
      reason: { type: 'string', description: 'Why, in one sentence for the user.' },
    },
    required: ['permissions'],
    additionalProperties: false,
  },
};

const Paths = () => z.array(z.string().min(1).max(4_096)).max(50).nullish();

export const PermissionArguments = schema(() =>
  z.object({
    network: z.object({ enabled: z.boolean().nullish() }).nullish(),
    file_system: z.object({ read: Paths(), write: Paths() }).nullish(),
  }),
);

const Arguments = schema(() =>
  z.object({ permissions: PermissionArguments(), reason: z.string().max(4_000).nullish() }),
);

export const permissionsTool: Tool = { spec: permissionsSpec, run };

async function run(call: ToolCall, _turn: TurnRequest, tools: ToolHost): Promise<ToolAnswer> {
  const read = readArguments(PERMISSIONS_TOOL, Arguments(), call.arguments);
  if ('problem' in read) return failed(read.problem);
  const wish = { ...wishOf(read.given.permissions), reason: read.given.reason || null };
  if (!wish.network && wish.read.length === 0 && wish.write.length === 0)
    return failed(`The arguments of ${PERMISSIONS_TOOL} ask for nothing.`);
  return { output: shown(await tools.requestPermissions(call.callId, wish)), success: true };
}

export function wishOf({ network, file_system }: Infer<typeof PermissionArguments>): Omit<PermissionWish, 'reason'> {
  return { network: network?.enabled === true, read: file_system?.read ?? [], write: file_system?.write ?? [] };
}

/** In the form in which models ask. */
function shown({ permissions: { network, read, write }, scope, refusedBecause }: PermissionReply): string {
  const files = { ...(read.length > 0 ? { read } : {}), ...(write.length > 0 ? { write } : {}) };
  const permissions = {
    network: network ? { enabled: true } : null,
    file_system: Object.keys(files).length > 0 ? files : null,
  };
  return JSON.stringify({ permissions, scope, ...(refusedBecause === undefined ? {} : { refusedBecause }) });
}
