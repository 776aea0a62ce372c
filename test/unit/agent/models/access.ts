// What the tests of the wire forms share: an access to the scripted server, a plain request, and how events are compared.

import type { ModelEvent, ModelRequest, ProviderAccess } from '../../../../src/agent/models/client.ts';

export const accessTo = (server: { readonly baseUrl: string }): ProviderAccess => ({
  id: 'scripted',
  baseUrl: server.baseUrl,
  wire: 'responses',
  apiKey: undefined,
  headers: {},
  query: {},
  streamIdleMs: 20_000,
  hasCustomTools: true,
});

export const emptyRequest: ModelRequest = {
  model: 'scripted-model',
  instructions: 'be good',
  context: [{ type: 'user', content: [{ type: 'text', text: 'hello', text_elements: [] }] }],
  tools: [],
  effort: null,
  summary: null,
  cacheKey: 'thread-1',
};

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}

/** The events with neighbouring pieces of the same text joined, however reads cut them. */
export function joined(events: readonly ModelEvent[]): readonly unknown[] {
  const result: Record<string, unknown>[] = [];
  for (const event of events) {
    if (!('parts' in event)) {
      result.push({ ...event });
      continue;
    }
    const { parts, ...kind } = event;
    const last = result.at(-1);
    if (last?.type === kind.type && last.index === ('index' in kind ? kind.index : undefined))
      last.text += parts.join('');
    else result.push({ ...kind, text: parts.join('') });
  }
  return result;
}
