// What the model asks about resources of MCP servers, as calls like those of tools: they only read.

import { AppError, isAppError, messageOf } from '../base/errors.ts';
import type { CallAnswer, CallOptions } from '../mcp/call.ts';
import type { ResourceKind, ResourcePage } from '../mcp/inventory.ts';
import type { ServerSet, SetEntry } from '../mcp/server-set.ts';
import type { McpCall, McpResourceQuery } from './backend.ts';
import type { McpDeed } from './mcp-call.ts';

/** Stands for all servers, where the question names none; clients of the protocol know it by this name. */
const EVERY_SERVER = 'codex';

const KINDS: Readonly<Record<string, ResourceKind>> = {
  list_mcp_resources: 'resources',
  list_mcp_resource_templates: 'resourceTemplates',
};

const NOTHING: Pick<ResourcePage, 'entries'> = { entries: [] };

/** The question as a call, and how it is answered; or what is wrong with it. */
export function resourceQuery(
  query: McpResourceQuery,
  servers: ServerSet,
): { readonly call: McpCall; readonly deed: McpDeed } | { readonly problem: string } {
  const { server, tool, arguments: given } = query;
  if (server !== null && !servers.entries.some((each) => each.server.name === server))
    return { problem: `unknown MCP server '${server}'` };
  // All of them are asked where one of them is to be asked about.
  const meant = ({ server: { name }, connection }: SetEntry) =>
    server === null ? connection !== undefined : name === server;
  const deed: McpDeed = {
    described: undefined,
    server: servers.entries.find((each) => each.server.name === server)?.server,
    hints: { readOnly: true },
    mode: () =>
      servers.entries.some((each) => meant(each) && each.server.approvalOf(tool) === 'prompt') ? 'prompt' : 'approve',
    ...(server === null ? { isOfAllServers: true } : {}),
    run: (options) => answered(() => answerTo(query, servers, options)),
  };
  return { call: { server: server ?? EVERY_SERVER, tool, arguments: given }, deed };
}

async function answered(work: () => Promise<object>): Promise<CallAnswer> {
  try {
    const text = JSON.stringify(await work());
    return {
      kind: 'result',
      content: [{ type: 'text', text }],
      structuredContent: null,
      isError: false,
      meta: null,
    };
  } catch (error) {
    const { code } = (error ?? {}) as { readonly code?: unknown };
    if (!isAppError(error) && typeof code !== 'number') throw error;
    return { kind: 'refused', message: messageOf(error), code: 0 };
  }
}

async function answerTo(query: McpResourceQuery, servers: ServerSet, caller: CallOptions): Promise<object> {
  const { server } = query;
  const { signal } = caller;
  if (query.tool === 'read_mcp_resource') {
    const { uri } = query;
    const read = servers.read(query.server, signal, (each) => each.readResource(uri, undefined, caller));
    const { contents } = await read.catch((error: unknown) => {
      throw new AppError('internal', `resources/read failed: ${messageOf(error)}`);
    });
    return { server, uri, contents };
  }
  const kind = KINDS[query.tool] ?? 'resources';
  const { cursor } = query;
  if (server !== null) {
    const page = await servers.read(server, signal, (each) => each.resourcePage(kind, cursor ?? undefined, caller));
    const next = page.next === undefined ? {} : { nextCursor: page.next };
    return { server, [kind]: page.entries.map((entry) => shown(server, entry)), ...next };
  }
  if (cursor !== null) throw new AppError('invalid', 'cursor can only be used when a server is specified');
  const all = servers.entries.flatMap(({ server: { name }, connection }) =>
    connection?.state.kind === 'ready' ? [{ name, connection }] : [],
  );
  const lists = await Promise.all(
    all.map(async ({ name, connection }) => {
      // What one server does not tell is nothing to the others.
      const { entries } = await connection.resourcePage(kind, undefined, caller).catch(() => NOTHING);
      return entries.map((entry) => shown(name, entry));
    }),
  );
  return { [kind]: lists.flat() };
}

/** What it is read by comes first. */
function shown(server: string, { uri, uriTemplate, ...more }: Readonly<Record<string, unknown>>): object {
  return { server, ...(uri === undefined ? { uriTemplate } : { uri }), ...more };
}
