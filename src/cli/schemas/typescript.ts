// The protocol as TypeScript types: one file without imports, with a map from method to types for each direction.

import type { DescribedNotification, DescribedRequest, Description } from './description.ts';
import { isNothing, type JsonSchema, referredName } from './json-schema.ts';

const HEADER =
  '// The messages of the Heddle app server. Made by `heddle schema ts`; changes are lost when it is made again.\n';

const UNIONS = `export type RequestId = string | number;

type Requests<Map extends Record<keyof Map, { params: unknown }>> = {
  [Method in keyof Map]: { id: RequestId; method: Method; params: Map[Method]['params'] };
}[keyof Map];
type Notifications<Map> = { [Method in keyof Map]: { method: Method; params: Map[Method] } }[keyof Map];

export type ClientRequest = Requests<ClientRequests>;
export type ClientNotification = Notifications<ClientNotifications>;
export type ServerRequest = Requests<ServerRequests>;
export type ServerNotification = Notifications<ServerNotifications>;
`;

export function typescriptText(description: Description): string {
  const types = [...description.definitions].map(([name, schema]) => `export type ${name} = ${typeOf(schema)};\n`);
  return [
    HEADER,
    ...types,
    requestMap('ClientRequests', 'What clients ask of the server.', description.requests),
    notificationMap('ClientNotifications', 'What clients tell the server.', description.clientNotifications),
    requestMap('ServerRequests', 'What the server asks of clients.', description.serverRequests),
    notificationMap('ServerNotifications', 'What the server tells clients.', description.notifications),
    UNIONS,
  ].join('\n');
}

function requestMap(name: string, purpose: string, requests: readonly DescribedRequest[]): string {
  const rows = requests.map(
    ({ method, params, result }) => `  '${method}': { params: ${params}; result: ${result} };\n`,
  );
  return `/** ${purpose} */\nexport interface ${name} {\n${rows.join('')}}\n`;
}

function notificationMap(name: string, purpose: string, notifications: readonly DescribedNotification[]): string {
  const rows = notifications.map(({ method, params }) => `  '${method}': ${params};\n`);
  return `/** ${purpose} */\nexport interface ${name} {\n${rows.join('')}}\n`;
}

/** `indent`: blanks before the line that the type stands in. */
export function typeOf(schema: JsonSchema, indent = ''): string {
  const name = referredName(schema);
  if (name !== undefined) return name;
  if (isNothing(schema)) return 'never';
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum) return union(schema.enum.map(literal));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map((each) => typeOf(each, indent)));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, indent)));
  switch (schema.type) {
    case undefined:
      return 'unknown';
    case 'integer':
      return 'number';
    case 'array':
      return arrayOf(schema, indent);
    case 'object':
      return objectOf(schema, indent);
    default:
      return String(schema.type);
  }
}

const literal = (value: unknown): string => (typeof value === 'string' ? quoted(value) : JSON.stringify(value));

const quoted = (text: string): string => `'${JSON.stringify(text).slice(1, -1).replaceAll("'", String.raw`\'`)}'`;

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');

function arrayOf({ items }: JsonSchema, indent: string): string {
  if (Array.isArray(items)) return `[${items.map((each) => typeOf(each, indent)).join(', ')}]`;
  const each = typeOf((items as JsonSchema | undefined) ?? {}, indent);
  return / \| /.test(each) ? `Array<${each}>` : `${each}[]`;
}

function objectOf({ properties = {}, required = [], additionalProperties }: JsonSchema, indent: string): string {
  const inner = `${indent}  `;
  const rows = Object.entries(properties).map(([member, schema]) => {
    const shown = /^[A-Za-z_$][\w$]*$/.test(member) ? member : quoted(member);
    return `${inner}${shown}${required.includes(member) ? '' : '?'}: ${typeOf(schema, inner)};\n`;
  });
  if (rows.length > 0) return `{\n${rows.join('')}${indent}}`;
  const rest = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown';
  // An index signature, since a record could not lead to the type that it is part of.
  return `{ [member: string]: ${additionalProperties === false ? 'never' : rest} }`;
}
