// What connects us to one MCP server, whatever it is made of: the transport of the library, and why it has ended.

import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

export interface McpWire extends Transport {
  /** Set once it has ended, in words for people. */
  readonly endedBecause: string | undefined;
}

/** For each request: the library's own timers run on the wall clock; ours decide. */
export const NEVER = { timeout: 2 ** 31 - 1 };
