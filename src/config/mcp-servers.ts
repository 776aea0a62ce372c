// The configured MCP servers: what connects them, with every default in place.

import { fingerprint } from '../base/canonical.ts';
import type { Config, McpServerEntry } from './schema.ts';

export type McpEndpoint =
  | {
      readonly kind: 'program';
      readonly argv: readonly [string, ...string[]];
      /** Absolute, or relative to the working folder of the thread; null: that folder itself. */
      readonly cwd: string | null;
      readonly env: Readonly<Record<string, string>>;
      /** Variables of our own environment that it gets as well. */
      readonly passed: readonly string[];
    }
  | {
      readonly kind: 'address';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** Header -> the variable of our own environment that holds its value. */
      readonly secretHeaders: Readonly<Record<string, string>>;
      /** The variable that holds the bearer token. */
      readonly tokenVariable: string | null;
      /** The document that says who we are, for logging in; null: we are registered. */
      readonly clientDocument: string | null;
    }
  /** It cannot be connected as it is configured. */
  | { readonly kind: 'unusable'; readonly problem: string };

export type ToolApproval = 'auto' | 'prompt' | 'approve';

export interface McpServer {
  readonly name: string;
  readonly isEnabled: boolean;
  /** Threads begin only when it is there. */
  readonly isRequired: boolean;
  readonly startupMs: number;
  /** Without a word of progress from it. */
  readonly toolMs: number;
  readonly endpoint: McpEndpoint;
  isToolEnabled(tool: string): boolean;
  approvalOf(tool: string): ToolApproval;
  /** Changes when anything does that a connection depends on: not with what is asked before calls, or who waits for it. */
  readonly digest: string;
}

const STARTUP_SECONDS = 10;
const TOOL_SECONDS = 60;

/** By name, in its order; those that are switched off too. */
export function mcpServersOf(config: Config): readonly McpServer[] {
  return Object.entries(config.mcp_servers)
    .map(([name, entry]) => serverOf(name, entry))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function serverOf(name: string, entry: McpServerEntry): McpServer {
  const { enabled_tools: allowed, disabled_tools: denied = [], tools = {} } = entry;
  const startupMs = entry.startup_timeout_ms ?? (entry.startup_timeout_sec ?? STARTUP_SECONDS) * 1000;
  return {
    name,
    isEnabled: entry.enabled ?? true,
    isRequired: entry.required ?? false,
    startupMs,
    toolMs: (entry.tool_timeout_sec ?? TOOL_SECONDS) * 1000,
    endpoint: endpointOf(entry),
    isToolEnabled: (tool) => (allowed === undefined || allowed.includes(tool)) && !denied.includes(tool),
    approvalOf: (tool) =>
      (Object.hasOwn(tools, tool) ? tools[tool]?.approval_mode : undefined) ??
      entry.default_tools_approval_mode ??
      'auto',
    digest: fingerprint({ ...entry, tools: null, default_tools_approval_mode: null, required: null }),
  };
}

function endpointOf(entry: McpServerEntry): McpEndpoint {
  const { command, url } = entry;
  if (command !== undefined && url !== undefined)
    return { kind: 'unusable', problem: 'it has both `command` and `url`: leave one of them out' };
  if (command !== undefined)
    return {
      kind: 'program',
      argv: [command, ...(entry.args ?? [])],
      cwd: entry.cwd ?? null,
      env: entry.env ?? {},
      passed: entry.env_vars ?? [],
    };
  if (url !== undefined)
    return {
      kind: 'address',
      url,
      headers: entry.http_headers ?? {},
      secretHeaders: entry.env_http_headers ?? {},
      tokenVariable: entry.bearer_token_env_var ?? null,
      clientDocument: entry.oauth_client_metadata_url ?? null,
    };
  return { kind: 'unusable', problem: 'it has neither `command` nor `url`' };
}
