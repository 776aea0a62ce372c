// The names under which a model is offered the tools of MCP servers: what providers allow, unique, and the same each time.

import { fingerprint } from '../base/canonical.ts';
import type { McpTool } from './inventory.ts';

export interface OfferedTool {
  /** For the model. */
  readonly name: string;
  readonly server: string;
  readonly tool: McpTool;
}

/** What every provider takes. */
const MAX_NAME = 64;
const HASH = 8;

/** In the order given; of two that would have one name the later is told apart by a digest. */
export function offeredTools(
  all: readonly { readonly server: string; readonly tools: readonly McpTool[] }[],
): readonly OfferedTool[] {
  const taken = new Set<string>();
  return all.flatMap(({ server, tools }) =>
    tools.map((tool) => {
      const whole = `mcp__${server}__${tool.name}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
      const isFree = whole.length <= MAX_NAME && !taken.has(whole);
      const digest = fingerprint({ server, tool: tool.name }).slice(0, HASH);
      const name = isFree ? whole : `${whole.slice(0, MAX_NAME - HASH - 1)}_${digest}`;
      taken.add(name);
      return { name, server, tool };
    }),
  );
}
