// The protocol as an OpenRPC document: what clients may ask as methods, the other directions as extensions.

import { AppError, ERROR_KINDS } from '../../base/errors.ts';
import { wireError } from '../../rpc/errors.ts';
import type { DescribedNotification, DescribedRequest, Description } from './description.ts';
import { type JsonSchema, placeOf } from './json-schema.ts';

const VERSION = '1.3.2';

const HERE = '#/components/schemas/';
const schemaRef = (name: string): JsonSchema => ({ $ref: `${HERE}${name}` });

/** `version`: our own. */
export function openRpcDocument(description: Description, version: string) {
  const schemas = Object.fromEntries(description.definitions);
  return {
    openrpc: VERSION,
    info: { title: 'Heddle', version, description: 'App server for coding agents.' },
    methods: description.requests.map((each) => methodOf(each, description.definitions.get(each.params)!)),
    components: { schemas: relocated(schemas), errors: errorTable() },
    'x-clientNotifications': description.clientNotifications.map(notificationOf),
    'x-serverRequests': description.serverRequests.map(({ method, params, result, isExperimental }) => ({
      ...notificationOf({ method, params, isExperimental }),
      result: schemaRef(result),
    })),
    'x-serverNotifications': description.notifications.map(notificationOf),
  };
}

function methodOf(request: DescribedRequest, shape: JsonSchema) {
  return {
    name: request.method,
    paramStructure: 'by-name',
    params: membersOf(shape),
    result: { name: 'result', schema: schemaRef(request.result) },
    ...(request.isExperimental ? { tags: [{ name: 'experimental' }] } : {}),
    'x-params': schemaRef(request.params),
    'x-permission': request.needs,
    'x-mutates': request.mutates,
    'x-experimentalMembers': request.experimentalMembers,
  };
}

/** OpenRPC knows params by their members only; those of a choice are required where all choices require them. */
function membersOf(shape: JsonSchema) {
  const choices = shape.oneOf ?? [shape];
  const names = new Set(choices.flatMap(({ properties = {} }) => Object.keys(properties)));
  return [...names].map((name) => {
    const schemas = choices.flatMap(({ properties }) => properties?.[name] ?? []);
    return {
      name,
      required: choices.every(({ required = [] }) => required.includes(name)),
      schema: relocated(schemas.length === 1 ? schemas[0] : { anyOf: schemas }),
    };
  });
}

function notificationOf({ method, params, isExperimental }: DescribedNotification) {
  return { method, params: schemaRef(params), isExperimental };
}

function errorTable() {
  const rows = ERROR_KINDS.map((kind) => {
    const { code, data } = wireError(new AppError(kind, ''));
    return [kind, { code, message: kind, data }] as const;
  });
  return Object.fromEntries(rows);
}

/** The same with references to where this document keeps its definitions. */
function relocated(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(`"$ref":"${placeOf('')}`, `"$ref":"${HERE}`));
}
