// What clients are told of one server: configured, connected, authenticated and callable are facts of their own.

import type { ResultInput } from '../rpc/declare.ts';
import type { McpConnection, McpIdentity } from './connection.ts';
import type { McpResources } from './inventory.ts';
import type { mcpServerStatusList } from './methods.ts';
import type { SetEntry } from './server-set.ts';

type Status = ResultInput<typeof mcpServerStatusList>['data'][number];

export function statusOf(
  { server, connection }: SetEntry,
  resources: McpResources,
  options: { readonly isOfThread: boolean; readonly isLoggedIn: boolean },
): Status {
  const { info, capabilities } = connection?.identity ?? { info: undefined, capabilities: undefined };
  const isConnected = connection?.state.kind === 'ready';
  const tools = isConnected ? (connection?.tools ?? []) : [];
  return {
    name: server.name,
    environmentId: null,
    runtimeStatus: options.isOfThread ? runtimeStatus(connection) : null,
    pluginId: null,
    httpOrigin: server.endpoint.kind === 'address' ? new URL(server.endpoint.url).origin : null,
    serverInfo: isConnected && info ? infoOf(info) : null,
    serverCapabilities: isConnected ? (capabilities ?? null) : null,
    toolListMeta: null,
    tools: Object.fromEntries(tools.map((tool) => [tool.name, tool])),
    toolsError: toolsErrorOf(connection),
    resources: [...resources.resources],
    resourceTemplates: [...resources.templates],
    authStatus: authStatus(server, connection, options.isLoggedIn),
    heddle: {
      enabled: server.isEnabled,
      required: server.isRequired,
      connected: isConnected,
      authenticated: isAuthenticated(server, connection, options.isLoggedIn),
      callable: isConnected && tools.length > 0,
    },
  };
}

function runtimeStatus(connection: McpConnection | undefined): Status['runtimeStatus'] {
  if (!connection) return 'disabled';
  const { state } = connection;
  switch (state.kind) {
    case 'ready':
      return 'connected';
    case 'failed':
      return state.needsLogin ? 'authenticationRequired' : 'failed';
    default:
      return state.kind;
  }
}

function toolsErrorOf(connection: McpConnection | undefined): string | null {
  if (!connection) return null;
  if (connection.state.kind === 'starting') return 'MCP startup has not ended yet';
  const error = connection.toolsError;
  return error === undefined ? null : `MCP startup failed: ${error}`;
}

const hasSecret = ({ endpoint }: SetEntry['server']): boolean =>
  endpoint.kind === 'address' && (endpoint.tokenVariable !== null || Object.keys(endpoint.secretHeaders).length > 0);

function authStatus(
  server: SetEntry['server'],
  connection: McpConnection | undefined,
  isLoggedIn: boolean,
): Status['authStatus'] {
  const state = connection?.state;
  if (state?.kind === 'failed' && state.needsLogin) return 'notLoggedIn';
  if (hasSecret(server)) return 'bearerToken';
  return isLoggedIn ? 'oAuth' : 'unsupported';
}

function isAuthenticated(
  server: SetEntry['server'],
  connection: McpConnection | undefined,
  isLoggedIn: boolean,
): boolean | null {
  const state = connection?.state;
  if (state?.kind === 'failed' && state.needsLogin) return false;
  return state?.kind === 'ready' && (hasSecret(server) || isLoggedIn) ? true : null;
}

function infoOf(info: NonNullable<McpIdentity['info']>): NonNullable<Status['serverInfo']> {
  return {
    name: info.name,
    title: info.title ?? null,
    version: info.version,
    description: info.description ?? null,
    icons: info.icons ? [...info.icons] : null,
    websiteUrl: info.websiteUrl ?? null,
  };
}
