// What a server has: its tools and resources, read page by page and never without end.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Resource, ResourceTemplate, Tool } from '@modelcontextprotocol/sdk/types.js';
import { AppError } from '../base/errors.ts';
import { NEVER } from './wire.ts';

export type McpTool = Tool;

export interface McpResources {
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
}

const MAX_PAGES = 100;
const MAX_ENTRIES = 1_000;
/** Of all tools, or resources, of one server as JSON: names, words and schemas are kept, and a model is shown them. */
const MAX_BYTES = 4 * 1024 * 1024;

type Library = typeof import('./library.ts');

/** By name; of several with one name the first counts. */
export async function listTools(library: Library, client: Client): Promise<readonly McpTool[]> {
  const tools = await pages('tools', async (cursor) => {
    const page = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      library.ListToolsResultSchema,
      NEVER,
    );
    return { entries: page.tools, next: page.nextCursor };
  });
  const named = new Map<string, McpTool>();
  for (const tool of tools) if (!named.has(tool.name)) named.set(tool.name, tool);
  return [...named.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export async function listResources(library: Library, client: Client): Promise<McpResources> {
  const [resources, templates] = await Promise.all([
    pages('resources', (cursor) => resourcePage(library, client, 'resources', cursor)),
    pages('templates of resources', (cursor) => resourcePage(library, client, 'resourceTemplates', cursor)),
  ]);
  return { resources: resources as readonly Resource[], templates: templates as readonly ResourceTemplate[] };
}

export type ResourceKind = 'resources' | 'resourceTemplates';

export interface ResourcePage {
  readonly entries: readonly (Resource | ResourceTemplate)[];
  /** Where the next one begins; undefined: this is the last. */
  readonly next: string | undefined;
}

/** Empty where the server has none of the kind. */
export async function resourcePage(
  library: Library,
  client: Client,
  kind: ResourceKind,
  cursor: string | undefined,
): Promise<ResourcePage> {
  if (!client.getServerCapabilities()?.resources) return { entries: [], next: undefined };
  const params = cursor === undefined ? {} : { cursor };
  if (kind === 'resources') {
    const page = await client.request({ method: 'resources/list', params }, library.ListResourcesResultSchema, NEVER);
    return { entries: page.resources, next: page.nextCursor };
  }
  try {
    const request = { method: 'resources/templates/list' as const, params };
    const page = await client.request(request, library.ListResourceTemplatesResultSchema, NEVER);
    return { entries: page.resourceTemplates, next: page.nextCursor };
  } catch (error) {
    // Servers that have no templates often do not know the question.
    if (error instanceof library.McpError && error.code === library.ErrorCode.MethodNotFound)
      return { entries: [], next: undefined };
    throw error;
  }
}

/** Rejects as *invalid* when there is more than is kept. */
async function pages<T>(
  what: string,
  read: (cursor: string | undefined) => Promise<{ readonly entries: readonly T[]; readonly next: string | undefined }>,
): Promise<readonly T[]> {
  const all: T[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && all.length < MAX_ENTRIES; page++) {
    const { entries, next } = await read(cursor);
    const more = entries.slice(0, MAX_ENTRIES - all.length);
    bytes += Buffer.byteLength(JSON.stringify(more));
    if (bytes > MAX_BYTES) throw new AppError('invalid', `it lists ${what} of more than ${MAX_BYTES} bytes of JSON`);
    all.push(...more);
    // A server that gives one cursor twice would be asked for ever.
    if (next === undefined || seen.has(next)) break;
    seen.add(next);
    cursor = next;
  }
  return all;
}
