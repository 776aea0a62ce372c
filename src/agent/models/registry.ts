// From a configured provider to the client that speaks its wire form.

import type { ModelClient, ProviderAccess } from './client.ts';
import type { ModelHttp } from './http.ts';
import { responsesClient } from './responses.ts';

/** Cheap: nothing is loaded or connected before the first request. Sockets belong to `http`, which the caller closes. */
export function modelClient(access: ProviderAccess, http: ModelHttp): ModelClient {
  return responsesClient(access, http);
}
