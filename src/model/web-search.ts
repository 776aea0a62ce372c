// What a provider looked up in the web by itself, as it told of it.

import { z } from 'zod';
import { type Infer, schema } from './schema.ts';

export const WebSearchAction = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('search'), query: z.string().nullable(), queries: z.array(z.string()).nullable() }),
    z.object({ type: z.literal('openPage'), url: z.string().nullable() }),
    z.object({ type: z.literal('findInPage'), url: z.string().nullable(), pattern: z.string().nullable() }),
    z.object({ type: z.literal('other') }),
  ]),
);
export type WebSearchAction = Infer<typeof WebSearchAction>;

/** What was looked for, in one line. */
export function queryOf(action: WebSearchAction): string {
  switch (action.type) {
    case 'search':
      return action.query ?? action.queries?.[0] ?? '';
    case 'openPage':
      return action.url ?? '';
    case 'findInPage':
      return action.pattern ?? '';
    case 'other':
      return '';
  }
}
