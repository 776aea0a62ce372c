// Lists MCP servers: none are connected.

import { pageOf } from '../base/page.ts';
import { implement, type Route } from '../rpc/router.ts';
import { mcpMethods } from './methods.ts';

export function mcpHandlers(): Route[] {
  return implement(mcpMethods, {
    mcpServerStatusList: async (params) => ({ data: pageOf<never>([], params).data, nextCursor: null }),
  });
}
