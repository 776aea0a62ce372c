// What a server has: its tools and resources, read page by page and never without end.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Resource, ResourceTemplate, Tool } from '@modelcontextprotocol/sdk/types.js';
import { NEVER } from './wire.ts';

export type McpTool = Tool;

export interface McpResources {
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
}

const MAX_PAGES = 100;
const MAX_ENTRIES = 1_000;

type Library = typeof import('./library.ts');

/** By name; of several with one name the first counts. */
export async function listTools(library: Library, client: Client): Promise<readonly McpTool[]> {
  const tools = await pages(async (cursor) => {
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
  if (!client.getServerCapabilities()?.resources) return { resources: [], templates: [] };
  const params = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });
  const [resources, templates] = await Promise.all([
    pages(async (cursor) => {
      const request = { method: 'resources/list' as const, params: params(cursor) };
      const page = await client.request(request, library.ListResourcesResultSchema, NEVER);
      return { entries: page.resources, next: page.nextCursor };
    }),
    // Servers that have no templates often do not know the question.
    pages(async (cursor) => {
      const request = { method: 'resources/templates/list' as const, params: params(cursor) };
      const page = await client.request(request, library.ListResourceTemplatesResultSchema, NEVER);
      return { entries: page.resourceTemplates, next: page.nextCursor };
    }).catch(() => []),
  ]);
  return { resources, templates };
}

async function pages<T>(
  read: (cursor: string | undefined) => Promise<{ readonly entries: readonly T[]; readonly next: string | undefined }>,
): Promise<readonly T[]> {
  const all: T[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && all.length < MAX_ENTRIES; page++) {
    const { entries, next } = await read(cursor);
    all.push(...entries.slice(0, MAX_ENTRIES - all.length));
    // A server that gives one cursor twice would be asked for ever.
    if (next === undefined || seen.has(next)) break;
    seen.add(next);
    cursor = next;
  }
  return all;
}
