// MCP servers: how they are, and direct calls of what they have.

import { z } from 'zod';
import { freeJson, JsonObject, optional } from '../model/schema.ts';
import { notification, request, unqueued } from '../rpc/declare.ts';

const ServerInfo = () =>
  z.object({
    name: z.string(),
    title: z.string().nullable(),
    version: z.string(),
    description: z.string().nullable(),
    icons: z.array(z.unknown()).nullable(),
    websiteUrl: z.string().nullable(),
  });

const Status = () =>
  z.object({
    name: z.string(),
    environmentId: z.null(),
    /** Null where no thread was named. */
    runtimeStatus: z
      .enum(['notStarted', 'starting', 'connected', 'authenticationRequired', 'failed', 'cancelled', 'disabled'])
      .nullable(),
    pluginId: z.null(),
    httpOrigin: z.string().nullable(),
    serverInfo: ServerInfo().nullable(),
    serverCapabilities: z.unknown().nullable(),
    toolListMeta: z.null(),
    /** By name, as the server describes them. */
    tools: z.record(z.string(), z.looseObject({ name: z.string(), inputSchema: JsonObject() })),
    toolsError: z.string().nullable(),
    resources: z.array(z.looseObject({ name: z.string(), uri: z.string() })),
    resourceTemplates: z.array(z.looseObject({ name: z.string(), uriTemplate: z.string() })),
    authStatus: z.enum(['unknown', 'unsupported', 'notLoggedIn', 'bearerToken', 'oAuth']),
    /** Ours: what is known of it, one fact each. */
    heddle: z.object({
      enabled: z.boolean(),
      required: z.boolean(),
      connected: z.boolean(),
      /** Null: it has not been asked, or does not care who we are. */
      authenticated: z.boolean().nullable(),
      /** Tools of it can be called now. */
      callable: z.boolean(),
    }),
  });

export const mcpServerStatusList = request('mcpServerStatus/list', {
  params: () =>
    z.object({
      cursor: optional(z.string()),
      limit: optional(z.int().min(0)),
      detail: optional(z.enum(['full', 'toolsAndAuthOnly'])),
      threadId: optional(z.string()),
      serverName: optional(z.string()),
      environmentId: optional(z.string()),
    }),
  result: () => z.object({ data: z.array(Status()), nextCursor: z.string().nullable() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  hasLargeAnswer: true,
});

/** Runs outside of every sandbox, like a process, and is asked of nobody: who sends it has decided. */
export const mcpServerToolCall = request('mcpServer/tool/call', {
  params: () =>
    z.object({
      threadId: z.string(),
      server: z.string(),
      environmentId: optional(z.string()),
      tool: z.string(),
      arguments: optional(freeJson(z.unknown())),
      _meta: optional(freeJson(JsonObject())),
    }),
  result: () =>
    z.object({
      content: z.array(z.unknown()),
      structuredContent: z.unknown().optional(),
      isError: z.boolean().optional(),
      _meta: z.unknown().optional(),
    }),
  queue: unqueued,
  needs: 'process',
  mutates: 'effect',
  hasLargeAnswer: true,
});

export const mcpServerResourceRead = request('mcpServer/resource/read', {
  params: () =>
    z.object({
      threadId: optional(z.string()),
      server: z.string(),
      environmentId: optional(z.string()),
      uri: z.string(),
      originCallId: optional(z.string()),
      _meta: optional(freeJson(JsonObject())),
    }),
  result: () =>
    z.object({
      contents: z.array(
        z.union([
          z.looseObject({ uri: z.string(), text: z.string() }),
          z.looseObject({ uri: z.string(), blob: z.string() }),
        ]),
      ),
      originCallId: z.string().nullable(),
    }),
  queue: unqueued,
  needs: 'process',
  mutates: false,
  hasLargeAnswer: true,
});

/** Answers when every loaded thread follows the configuration; servers that are new are still starting then. */
export const configMcpServerReload = request('config/mcpServer/reload', {
  params: () => z.object({}).nullish(),
  result: () => z.object({}),
  queue: () => ({ key: 'mcp:reload' }),
  needs: 'admin',
  mutates: 'effect',
});

/** Answers with where people log in; how it ends is told by `mcpServer/oauthLogin/completed`. */
export const mcpServerOauthLogin = request('mcpServer/oauth/login', {
  params: () =>
    z.object({
      name: z.string(),
      environmentId: optional(z.string()),
      threadId: optional(z.string()),
      /** `cimd`: by the document of `oauth_client_metadata_url` alone; `dcr`: by a registration alone. */
      clientRegistration: optional(z.enum(['auto', 'cimd', 'dcr'])),
      scopes: optional(z.array(z.string())),
      timeoutSecs: optional(z.int().min(1).max(3_600)),
    }),
  result: () => z.object({ authorizationUrl: z.string(), loginId: z.string() }),
  queue: unqueued,
  needs: 'admin',
  mutates: 'effect',
});

export const mcpServerOauthLoginCompleted = notification('mcpServer/oauthLogin/completed', () =>
  z.object({
    name: z.string(),
    threadId: z.string().nullable(),
    loginId: z.string(),
    success: z.boolean(),
    error: z.string().optional(),
  }),
);

export const mcpMethods = {
  mcpServerStatusList,
  mcpServerToolCall,
  mcpServerResourceRead,
  configMcpServerReload,
  mcpServerOauthLogin,
};

export const mcpServerStatusUpdated = notification('mcpServer/startupStatus/updated', () =>
  z.object({
    threadId: z.string().nullable(),
    name: z.string(),
    environmentId: z.null(),
    status: z.enum(['starting', 'ready', 'failed', 'cancelled']),
    error: z.string().nullable(),
    failureReason: z.literal('reauthenticationRequired').nullable(),
  }),
);
