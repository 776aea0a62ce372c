// The protocol as JSON Schema: everything in one file, and one file for each direction that checks whole messages.

import type { Description } from './description.ts';
import { DRAFT, type JsonSchema, reachable, reference } from './json-schema.ts';

const REQUEST_ID: JsonSchema = { type: ['string', 'integer'] };

interface Message {
  readonly method: string;
  readonly params: string;
}

/** Contents of files by their names. */
export function jsonFiles(description: Description): ReadonlyMap<string, unknown> {
  const { definitions } = description;
  const envelopes = (messages: readonly Message[], isRequest: boolean) =>
    documentOf(
      messages.map((each) => envelope(each, isRequest, definitions)),
      reachable(
        messages.map(({ params }) => params),
        definitions,
      ),
    );
  return new Map<string, unknown>([
    ['ClientRequest.json', envelopes(description.requests, true)],
    ['ClientNotification.json', envelopes(description.clientNotifications, false)],
    ['ServerRequest.json', envelopes(description.serverRequests, true)],
    ['ServerNotification.json', envelopes(description.notifications, false)],
    ['protocol.json', whole(description)],
  ]);
}

function documentOf(oneOf: readonly JsonSchema[], definitions: ReadonlyMap<string, JsonSchema>): JsonSchema {
  return { $schema: DRAFT, oneOf, definitions: Object.fromEntries(definitions) };
}

/** Params may be left out where nothing in them is required. */
function envelope(
  { method, params }: Message,
  isRequest: boolean,
  definitions: ReadonlyMap<string, JsonSchema>,
): JsonSchema {
  const shape = definitions.get(params)!;
  const needsParams = (shape.required ?? []).length > 0 || shape.oneOf !== undefined;
  return {
    type: 'object',
    properties: {
      ...(isRequest ? { id: REQUEST_ID } : {}),
      method: { type: 'string', const: method },
      params: reference(params),
    },
    required: [...(isRequest ? ['id'] : []), 'method', ...(needsParams ? ['params'] : [])],
  };
}

/** All definitions, and which of them belong to which method. */
function whole({ definitions, ...lists }: Description) {
  return { $schema: DRAFT, title: 'Heddle', definitions: Object.fromEntries(definitions), messages: lists };
}
