// The part of JSON Schema (draft 7) that the declared messages are written down in.

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly propertyNames?: JsonSchema;
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
  readonly [keyword: string]: unknown;
}

export const DRAFT = 'http://json-schema.org/draft-07/schema#';

/** Where a definition is found in the document that it is part of. */
export const placeOf = (name: string): string => `#/definitions/${name}`;

export const reference = (name: string): JsonSchema => ({ $ref: placeOf(name) });

/** The name of the definition that a schema stands for. */
export function referredName(schema: JsonSchema): string | undefined {
  return schema.$ref?.slice(placeOf('').length);
}

/** Says that there is nothing that fits. */
export const isNothing = (schema: JsonSchema): boolean =>
  schema.not !== undefined && Object.keys(schema.not).length === 0;

/** The given definitions and all that they lead to, by name. */
export function reachable(
  names: Iterable<string>,
  all: ReadonlyMap<string, JsonSchema>,
): ReadonlyMap<string, JsonSchema> {
  const found = new Map<string, JsonSchema>();
  const visit = (name: string): void => {
    const schema = all.get(name);
    if (!schema || found.has(name)) return;
    found.set(name, schema);
    for (const place of JSON.stringify(schema).matchAll(/"\$ref":"#\/definitions\/(\w+)"/g)) visit(place[1]!);
  };
  for (const name of names) visit(name);
  return new Map([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
