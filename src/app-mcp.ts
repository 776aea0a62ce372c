// The MCP servers of a process: their connections, and the requests about them.

import { join } from 'node:path';
import { fingerprint } from './base/canonical.ts';
import type { Clock } from './base/clock.ts';
import { AppError } from './base/errors.ts';
import type { Log } from './base/log.ts';
import type { Children } from './children/spawn.ts';
import { type ConfigSource, withOverrides } from './config/load.ts';
import { type McpServer, mcpServersOf } from './config/mcp-servers.ts';
import { isTable, type Table } from './config/tables.ts';
import { mcpHandlers } from './mcp/handlers.ts';
import { ChosenStore } from './mcp/login-choice.ts';
import { KeyringStore } from './mcp/login-keyring.ts';
import { LoginStore } from './mcp/login-store.ts';
import { Logins } from './mcp/logins.ts';
import { McpServers } from './mcp/servers.ts';
import type { Route } from './rpc/router.ts';
import type { ThreadRegistry } from './threads/registry.ts';

export interface McpParts {
  readonly config: ConfigSource;
  readonly children: Children;
  readonly clock: Clock;
  readonly log: Log;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  readonly dataDirectory: string;
}

/** Nothing is connected before somebody needs it. */
export function createMcpServers({ config, dataDirectory, ...parts }: McpParts): McpServers {
  const { clock, log } = parts;
  const store = new ChosenStore({
    file: new LoginStore(join(dataDirectory, 'mcp-auth.json')),
    keyring: new KeyringStore({ dataDirectory, clock }),
    choice: async () => (await config.state()).config.mcp_oauth_credentials_store,
    log,
  });
  const logins = new Logins({ store, clock, log });
  const configured = async (own?: Table) => {
    const common = await config.load();
    return mcpServersOf(own ? withOverrides(common, { mcp_servers: own }, config.requirements) : common);
  };
  return new McpServers({ ...parts, logins, configured });
}

/** The server as it is connected is one of the configuration file, not one that a thread or a command line has in its place. */
export const mayRememberMcpTool =
  (config: ConfigSource) =>
  async ({ name, endpoint }: McpServer): Promise<boolean> => {
    if (!(await isInFile(config, name))) return false;
    const known = mcpServersOf((await config.state()).config).find((each) => each.name === name);
    return known !== undefined && fingerprint(known.endpoint) === fingerprint(endpoint);
  };

async function isInFile(config: ConfigSource, server: string): Promise<boolean> {
  const { layers } = await config.state();
  const servers = layers.find(({ name }) => name.type === 'user')?.settings.mcp_servers;
  return isTable(servers) && Object.hasOwn(servers, server);
}

/** As administrators write it. */
export const rememberMcpTool = (config: ConfigSource) => async (server: string, tool: string) => {
  if (!(await isInFile(config, server)))
    throw new AppError('invalid', 'the server is not one of the configuration file');
  const path = ['mcp_servers', server, 'tools', tool, 'approval_mode'];
  await config.editor.write([{ path, value: 'approve', mergeStrategy: 'upsert' }]);
};

export const mcpRoutes = (servers: McpServers, registry: ThreadRegistry, clock: Clock): Route[] =>
  mcpHandlers({
    servers,
    clock,
    ofThread: async ({ session }, threadId) => (await registry.load(session.principal.tenant, threadId)).mcp.servers,
  });
