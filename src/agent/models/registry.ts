// From a configured provider to the client that speaks its wire form.

import { anthropicClient } from './anthropic.ts';
import { chatClient } from './chat.ts';
import type { ModelClient, ProviderAccess } from './client.ts';
import type { ModelHttp } from './http.ts';
import { responsesClient } from './responses.ts';

const CLIENTS = { responses: responsesClient, chat: chatClient, anthropic: anthropicClient };

/** Cheap: nothing is loaded or connected before the first request. Sockets belong to `http`, which the caller closes. */
export function modelClient(access: ProviderAccess, http: ModelHttp): ModelClient {
  return CLIENTS[access.wire](access, http);
}
