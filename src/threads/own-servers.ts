// MCP servers that a client gives a thread by `config.mcp_servers`: over those that are configured, while the thread is loaded.

import { AppError } from '../base/errors.ts';
import { configError } from '../config/faults.ts';
import { type ConfigSource, withOverrides } from '../config/load.ts';
import { mcpServersOf } from '../config/mcp-servers.ts';
import { expanded, isTable, type Table } from '../config/tables.ts';
import type { ThreadOverrides } from './overrides.ts';
import type { ThreadRuntime } from './runtime.ts';

/**
 * Undefined: none are given. Rejects as *invalid* for what no server can be made of. Who is remote is refused before: what is
 * named here is run.
 */
export async function ownServersOf(
  { config: overrides }: Pick<ThreadOverrides, 'config'>,
  { config }: { readonly config: ConfigSource },
  cwd: string,
): Promise<Table | undefined> {
  const own = expanded(overrides ?? {}).mcp_servers;
  if (own === undefined || own === null) return undefined;
  if (!isTable(own)) throw configError('expected a table in `mcp_servers`');
  const all = mcpServersOf(withOverrides(await config.load(cwd), { mcp_servers: own }, config.requirements));
  for (const { name, endpoint } of all)
    if (Object.hasOwn(own, name) && endpoint.kind === 'unusable')
      throw configError(`invalid transport (${endpoint.problem})\nin \`mcp_servers.${name}\``);
  return own;
}

/** Connections follow at once, of a thread that is idle; rejects as *conflict* while a turn runs. */
export async function giveServers(runtime: ThreadRuntime, own: Table | undefined): Promise<void> {
  if (!own || !runtime.mcp.isNews(own)) return;
  if (runtime.activeTurnId !== undefined)
    throw new AppError('conflict', 'a turn is running; not applied: mcp_servers', {
      threadId: runtime.threadId,
      activeTurnId: runtime.activeTurnId,
      notApplied: ['mcp_servers'],
    });
  await runtime.mcp.give(own);
}
