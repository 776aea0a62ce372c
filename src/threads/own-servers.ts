// What a client gives a thread while it is loaded: MCP servers by `config.mcp_servers`, and the settings of its own command line.

import { AppError } from '../base/errors.ts';
import { settingsOfThread } from '../config/connection-settings.ts';
import { configError } from '../config/faults.ts';
import { type ConfigSource, withOverrides } from '../config/load.ts';
import { mcpServersOf } from '../config/mcp-servers.ts';
import { expanded, isTable, merged, type Table } from '../config/tables.ts';
import type { Session } from '../rpc/session.ts';
import type { ThreadOverrides } from './overrides.ts';
import type { ThreadRuntime } from './runtime.ts';

/** The settings go with a thread that is idle; a client that has none of that kind leaves those that there are. */
export async function giveOwn(
  runtime: ThreadRuntime,
  { settings }: Session['client'],
  own: Table | undefined,
): Promise<void> {
  await giveServers(runtime, own);
  if (!settings || runtime.activeTurnId !== undefined) return;
  runtime.ownSettings = settingsOfThread(settings) ?? runtime.ownSettings;
  const { mcp_servers: flagged } = settings;
  if (isTable(flagged) && own === undefined && runtime.mcp.isNews(flagged)) await runtime.mcp.give(flagged);
}

/**
 * Undefined: none are given. Rejects as *invalid* for what no server can be made of. Who is remote is refused before: what is
 * named here is run.
 */
export async function ownServersOf(
  { config: overrides }: Pick<ThreadOverrides, 'config'>,
  { settings }: Session['client'],
  { config }: { readonly config: ConfigSource },
  cwd: string,
): Promise<Table | undefined> {
  const own = expanded(overrides ?? {}).mcp_servers;
  if (own === undefined || own === null) return undefined;
  if (!isTable(own)) throw configError('expected a table in `mcp_servers`');
  const all = mcpServersOf(
    withOverrides(await config.viewOf(settings).load(cwd), { mcp_servers: own }, config.requirements),
  );
  for (const { name, endpoint } of all)
    if (Object.hasOwn(own, name) && endpoint.kind === 'unusable')
      throw configError(`invalid transport (${endpoint.problem})\nin \`mcp_servers.${name}\``);
  return isTable(settings?.mcp_servers) ? merged(settings.mcp_servers, own) : own;
}

/** Connections follow at once, of a thread that is idle; rejects as *conflict* while a turn runs. */
async function giveServers(runtime: ThreadRuntime, own: Table | undefined): Promise<void> {
  if (!own || !runtime.mcp.isNews(own)) return;
  if (runtime.activeTurnId !== undefined)
    throw new AppError('conflict', 'a turn is running; not applied: mcp_servers', {
      threadId: runtime.threadId,
      activeTurnId: runtime.activeTurnId,
      notApplied: ['mcp_servers'],
    });
  await runtime.mcp.give(own);
}
