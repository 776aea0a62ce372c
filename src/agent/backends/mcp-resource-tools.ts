// Tools with which a model finds and reads resources of MCP servers.

import { z } from 'zod';
import { type Infer, type Schema, schema } from '../../model/schema.ts';
import type { McpResourceQuery } from '../backend.ts';
import { parseLoosely, recordOf } from '../models/loose.ts';
import { answerOf } from './mcp-tool.ts';
import { failed, readArguments, type Tool } from './tool.ts';

const ListArguments = schema(() => z.object({ server: z.string().nullish(), cursor: z.string().nullish() }));
const ReadArguments = schema(() => z.object({ server: z.string().min(1), uri: z.string().min(1) }));

const SERVER = { type: 'string', description: 'Name of one server; all of them if left out.' };
const CURSOR = { type: 'string', description: 'The nextCursor of an earlier answer of this server, to read on there.' };

const listResources = listTool(
  'list_mcp_resources',
  'Lists what MCP servers have to read (resources): files, records, documents, each with its URI.',
);

const listTemplates = listTool(
  'list_mcp_resource_templates',
  'Lists the patterns of URIs under which MCP servers have things to read (resource templates).',
);

const readResource = resourceTool({
  name: 'read_mcp_resource',
  description: 'Reads one resource of an MCP server.',
  properties: {
    server: { type: 'string', description: 'Name of the server, as it is listed with the resource.' },
    uri: { type: 'string', description: 'The URI, as it is listed or made after a pattern.' },
  },
  required: ['server', 'uri'],
  shape: ReadArguments,
  query: ({ server, uri }) => ({ tool: 'read_mcp_resource', server, uri }),
});

/** In the order in which the model is told about them. */
export const resourceTools: readonly Tool[] = [listResources, listTemplates, readResource];

function listTool(name: 'list_mcp_resources' | 'list_mcp_resource_templates', description: string): Tool {
  return resourceTool({
    name,
    description,
    properties: { server: SERVER, cursor: CURSOR },
    required: [],
    shape: ListArguments,
    query: ({ server, cursor }) => ({ tool: name, server: server?.trim() || null, cursor: cursor?.trim() || null }),
  });
}

type Query<Q = McpResourceQuery> = Q extends McpResourceQuery ? Omit<Q, 'arguments'> : never;

interface Description<S extends Schema<z.ZodType>> {
  readonly name: string;
  readonly description: string;
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
  readonly shape: S;
  readonly query: (given: Infer<S>) => Query;
}

function resourceTool<S extends Schema<z.ZodType>>(of: Description<S>): Tool {
  const { name, description, properties, required } = of;
  return {
    spec: { name, description, parameters: { type: 'object', properties, required, additionalProperties: false } },
    async run(call, _turn, tools) {
      // Models leave out the arguments of a tool that needs none.
      const text = call.arguments.trim() === '' ? '{}' : call.arguments;
      const read = readArguments(name, of.shape(), text);
      if ('problem' in read) return failed(read.problem);
      const query = { ...of.query(read.given as Infer<S>), arguments: recordOf(parseLoosely(text)) };
      return answerOf(await tools.askMcpResources(call.callId, query as McpResourceQuery));
    },
  };
}
