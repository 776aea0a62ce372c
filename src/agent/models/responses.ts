// Models behind the Responses wire form, spoken without a library: the loop needs its raw facts.

import type { ModelClient, ModelEvent, ModelRequest, ProviderAccess } from './client.ts';
import { ModelError } from './client.ts';
import { endpoint, requestHeaders } from './endpoint.ts';
import { EventBatch } from './event-batch.ts';
import { EventStreamReader } from './event-stream.ts';
import type { ModelHttp } from './http.ts';
import { ResponsesEvents } from './responses-events.ts';
import { responsesBody } from './responses-request.ts';

export function responsesClient(access: ProviderAccess, http: ModelHttp): ModelClient {
  return { stream: (request, signal) => stream(access, http, request, signal) };
}

async function* stream(
  access: ProviderAccess,
  http: ModelHttp,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], void> {
  const authorization = access.apiKey === undefined ? {} : { authorization: `Bearer ${access.apiKey}` };
  const answer = await http.open(
    {
      url: endpoint(access, 'responses'),
      headers: requestHeaders(access, authorization),
      body: JSON.stringify(responsesBody(request, access)),
      idleMs: access.streamIdleMs,
    },
    signal,
  );
  const reader = new EventStreamReader();
  const batch = new EventBatch();
  const events = new ResponsesEvents(batch, request.watchedTool);
  for await (const chunk of answer.chunks) {
    let isLast = false;
    let failure: unknown;
    try {
      for (const event of reader.feed(chunk)) {
        isLast = events.accept(event.data);
        if (isLast) break;
      }
    } catch (error) {
      failure = error;
    }
    const said = batch.take();
    if (said.length > 0) yield said;
    if (failure !== undefined) throw failure;
    if (isLast) return;
  }
  throw new ModelError('stream closed before response.completed', { kind: 'stream' });
}
