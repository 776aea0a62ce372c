// Tools that a client declares for a thread and runs itself when the model calls them.

import { z } from 'zod';
import { freeJson, type Infer, schema } from './schema.ts';

const FunctionTool = schema(() =>
  z.object({
    type: z.literal('function'),
    name: z.string(),
    description: z.string(),
    /** JSON Schema of the arguments. */
    inputSchema: z.union([z.record(z.string(), z.unknown()), z.boolean()]),
    /** Accepted and of no effect: the model is told of every tool. */
    deferLoading: z.boolean().nullish(),
  }),
);

export const ClientTool = schema(() =>
  z.discriminatedUnion('type', [
    FunctionTool(),
    z.object({
      type: z.literal('namespace'),
      name: z.string(),
      description: z.string(),
      tools: z.array(FunctionTool()),
    }),
  ]),
);
export type ClientTool = Infer<typeof ClientTool>;

/**
 * What arguments must be, as far as that can be told in bounded time: patterns, and references below a choice, are left to the client.
 * Throws for a schema that cannot be checked: one that is none, or that makes conditions (`if`, `not`, `dependentRequired` and the
 * like).
 */
export function argumentsShape(inputSchema: Readonly<Record<string, unknown>> | boolean): z.ZodType {
  return freeJson(z.fromJSONSchema(cheapPart(inputSchema) as Parameters<typeof z.fromJSONSchema>[0]));
}

const CHOICES: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf']);
/** Their members are schemas, whatever their names. */
const MAPS: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);

function cheapPart(schema: unknown, isBelowChoice = false): unknown {
  if (Array.isArray(schema)) return schema.map((each) => cheapPart(each, isBelowChoice));
  if (schema === null || typeof schema !== 'object') return schema;
  if (isBelowChoice && '$ref' in schema) return {};
  // Without its patterns nobody knows which members are additional.
  const { pattern: _, patternProperties, additionalProperties, ...rest } = schema as Record<string, unknown>;
  const kept = patternProperties === undefined && additionalProperties !== undefined ? { additionalProperties } : {};
  return mapped({ ...rest, ...kept }, (value, key) => {
    if (VALUES.has(key)) return value;
    if (MAPS.has(key)) return mapped(value, (each) => cheapPart(each, isBelowChoice));
    return cheapPart(value, isBelowChoice || CHOICES.has(key));
  });
}

function mapped(value: unknown, change: (value: unknown, key: string) => unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, change(each, key)]));
}

/** What a client's tool gives back. */
export const ClientToolContent = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('inputText'), text: z.string() }),
    z.object({ type: z.literal('inputImage'), imageUrl: z.string() }),
    z.object({ type: z.literal('inputAudio'), audioUrl: z.string() }),
  ]),
);
export type ClientToolContent = Infer<typeof ClientToolContent>;

export const ClientToolResponse = schema(() =>
  z.object({ contentItems: z.array(ClientToolContent()), success: z.boolean() }),
);
export type ClientToolResponse = Infer<typeof ClientToolResponse>;

/** One function, wherever it was declared. */
export interface ClientFunction {
  readonly namespace: string | null;
  readonly tool: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>> | boolean;
  /** The name by which models call it: every wire form knows flat names, not all know namespaces. */
  readonly modelName: string;
}

export const modelNameOf = (namespace: string | null, tool: string): string =>
  namespace === null ? tool : `${namespace}__${tool}`;

/** All functions of a declaration, in its order. */
export function clientFunctions(tools: readonly ClientTool[]): ClientFunction[] {
  return tools.flatMap((tool) => {
    if (tool.type === 'function') return [functionOf(null, tool)];
    return tool.tools.map((each) => functionOf(tool, each));
  });
}

function functionOf(
  space: { readonly name: string; readonly description: string } | null,
  tool: Infer<typeof FunctionTool>,
): ClientFunction {
  const namespace = space?.name ?? null;
  return {
    namespace,
    tool: tool.name,
    description: space?.description ? `${space.description}: ${tool.description}` : tool.description,
    inputSchema: tool.inputSchema,
    modelName: modelNameOf(namespace, tool.name),
  };
}
