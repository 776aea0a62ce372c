// Whether everything that one JSON Schema allows is allowed by another: what stands in the way, place by place.
// It knows the keywords that the two protocols use; any other that narrows a type is an error, so that none is passed over.

const IDLE = new Set([
  '$schema',
  '$id',
  'title',
  'description',
  'default',
  'examples',
  'definitions',
  'format',
  'deprecated',
  'writeOnly',
  'readOnly',
]);
const KNOWN = new Set([
  ...['$ref', 'type', 'const', 'enum', 'anyOf', 'oneOf', 'allOf', 'not'],
  ...['properties', 'required', 'additionalProperties', 'propertyNames', 'items', 'minItems', 'maxItems'],
  ...['minimum', 'maximum', 'minLength', 'maxLength'],
]);

/**
 * A schema with the document that its references lead into.
 * @typedef {{ schema: object | boolean, root: { definitions?: Record<string, object> } }} Placed
 */

/**
 * The differences: `{ place, says }` for each place where `narrow` allows what `wide` does not. Objects of `narrow` are taken to
 * have the members they name and no others. A place is a path that begins with the name of the last definition of `ours`, which is
 * one of the two, and has the tag of a variant in brackets. Definitions may lead to themselves.
 * @param {Placed} narrow @param {Placed} wide @param {'narrow' | 'wide'} ours @param {string} name what the two schemas are
 */
export function differences(narrow, wide, ours, name) {
  const found = compare(narrow, wide, name, { ours, open: new Set() });
  return [...new Map(found.map((each) => [`${each.place} ${each.says}`, each])).values()];
}

function compare(narrow, wide, path, { ours, open }) {
  const pair = `${keyOf(narrow)} < ${keyOf(wide)}`;
  if (open.has(pair)) return [];
  const inside = { ours, open: new Set(open).add(pair) };
  const allowed = shapes(wide);
  return shapes(narrow).flatMap((shape) => closest(shape, allowed, path, inside));
}

/** What keeps a shape from the most similar of those that are allowed. */
function closest(shape, allowed, outside, at) {
  const path = (at.ours === 'narrow' && shape.definition) || outside;
  if (allowed.some(({ kind }) => kind === 'any') || isAnything(allowed)) return [];
  if (shape.kind === 'any') return [{ place: path, says: 'may be anything' }];
  const alike = allowed.filter(({ kind }) => kind === shape.kind);
  if (alike.length === 0) return [{ place: path, says: `may be ${nameOf(shape)}` }];
  let best;
  for (const each of alike) {
    const found = between(shape, each, (at.ours === 'wide' && each.definition) || path, at);
    if (found.length === 0) return [];
    if (!best || weight(found, path) < weight(best, path)) best = found;
  }
  return best;
}

/** All kinds of JSON, none of them narrowed: what objects and lists hold is the same again. */
function isAnything(allowed) {
  const open = allowed.filter((shape) => !('value' in shape) && shape.min === undefined && shape.max === undefined);
  const kinds = new Set(
    open.filter(({ kind, isWhole, isTable }) => !isWhole && (kind !== 'object' || isTable)).map(({ kind }) => kind),
  );
  return ['null', 'boolean', 'number', 'string', 'array', 'object'].every((kind) => kinds.has(kind));
}

/** A wrong tag counts more than wrong members: among variants the one with the same tag is meant. */
const weight = (found, path) =>
  found.reduce(
    (sum, each) => sum + (each.says.startsWith('may be "') && depth(each.place) === depth(path) + 1 ? 1000 : 1),
    0,
  );
const depth = (path) => path.split('/').length;

function between(shape, wide, path, at) {
  switch (shape.kind) {
    case 'null':
      return [];
    case 'boolean':
    case 'string':
    case 'number':
      return betweenValues(shape, wide, path);
    case 'array':
      return betweenArrays(shape, wide, path, at);
    default:
      return betweenObjects(shape, wide, path, at);
  }
}

function betweenValues(shape, wide, path) {
  if ('value' in wide && (!('value' in shape) || shape.value !== wide.value))
    return [{ place: path, says: `may be ${nameOf(shape)}` }];
  if ('value' in shape) return [];
  const found = [];
  if (wide.isWhole && !shape.isWhole) found.push({ place: path, says: 'may be a fraction' });
  if (wide.min !== undefined && (shape.min ?? -Infinity) < wide.min)
    found.push({ place: path, says: `may be below ${wide.min}` });
  if (wide.max !== undefined && (shape.max ?? Infinity) > wide.max)
    found.push({ place: path, says: `may be above ${wide.max}` });
  return found;
}

function betweenArrays(shape, wide, path, at) {
  const found = compare(shape.items, wide.items, `${path}/*`, at);
  if ((wide.min ?? 0) > (shape.min ?? 0)) found.push({ place: path, says: `may have less than ${wide.min} entries` });
  if ((wide.max ?? Infinity) < (shape.max ?? Infinity))
    found.push({ place: path, says: `may have more than ${wide.max} entries` });
  return found;
}

function betweenObjects(shape, wide, outside, at) {
  const tag = shape.members.type?.schema.const;
  const path = tag === undefined ? outside : `${outside}(${tag})`;
  const missing = wide.required.filter((member) => !shape.required.includes(member));
  const found = missing.map((member) => ({ place: `${path}/${member}`, says: 'may be missing' }));
  for (const [member, each] of Object.entries(shape.members)) {
    const other = wide.members[member] ?? wide.others;
    if (!other) found.push({ place: `${path}/${member}`, says: 'is not allowed' });
    else if (at.ours === 'wide' && other === wide.others && !wide.isTable)
      found.push({ place: `${path}/${member}`, says: 'is not read' });
    else found.push(...compare(each, other, `${path}/${member}`, at));
  }
  if (shape.isTable && !wide.others) found.push({ place: path, says: 'may have any members' });
  if (shape.isTable && wide.others) found.push(...compare(shape.others, wide.others, `${path}/*`, at));
  return found;
}

/** The plain alternatives that a schema stands for. */
function shapes({ schema, root }) {
  if (schema === true) return [{ kind: 'any' }];
  if (schema === false) return [];
  check(schema);
  const of = (each) => shapes({ schema: each, root });
  if (schema.$ref) {
    const definition = schema.$ref.split('/').pop();
    return of(resolve(schema.$ref, root)).map((shape) => ({ definition, ...shape }));
  }
  if (schema.allOf) return of(merged(schema, root));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.flatMap((each) => of(withoutChoices(schema, each)));
  if (schema.not) return [];
  if ('const' in schema) return [valueShape(schema.const)];
  if (schema.enum) return schema.enum.map(valueShape);
  if (Array.isArray(schema.type)) return schema.type.flatMap((type) => of({ ...schema, type }));
  return [plainShape(schema, root)];
}

function check(schema) {
  const strange = Object.keys(schema).find(
    (keyword) => !KNOWN.has(keyword) && !IDLE.has(keyword) && !keyword.startsWith('x-'),
  );
  if (strange !== undefined) throw new Error(`the comparison does not know the keyword ${strange}`);
}

function resolve(reference, root) {
  const found = reference
    .replace(/^#\//, '')
    .split('/')
    .reduce((each, step) => each?.[step], root);
  if (!found) throw new Error(`${reference} leads nowhere`);
  return found;
}

/** Members that stand beside a choice belong to each of its variants. */
function withoutChoices({ anyOf: _any, oneOf: _one, ...beside }, choice) {
  const { properties, required } = beside;
  if (!properties) return choice;
  if (choice.$ref) return { allOf: [choice, beside] };
  return {
    ...choice,
    properties: { ...properties, ...choice.properties },
    required: [...new Set([...(required ?? []), ...(choice.required ?? [])])],
  };
}

function merged({ allOf, ...beside }, root) {
  const parts = [...allOf, beside].map((each) => (each.$ref ? resolve(each.$ref, root) : each));
  if (parts.filter((each) => Object.keys(each).some((keyword) => !IDLE.has(keyword))).length === 1)
    return parts.find((each) => Object.keys(each).some((keyword) => !IDLE.has(keyword)));
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map((each) => each.properties)),
    required: parts.flatMap((each) => each.required ?? []),
  };
}

const kindOfValue = (value) => (value === null ? 'null' : typeof value);
const valueShape = (value) => (value === null ? { kind: 'null' } : { kind: kindOfValue(value), value });

function plainShape(schema, root) {
  const type = schema.type ?? (schema.properties ? 'object' : schema.items ? 'array' : 'any');
  switch (type) {
    case 'integer':
    case 'number':
      return { kind: 'number', isWhole: type === 'integer', min: schema.minimum, max: schema.maximum };
    case 'array':
      return {
        kind: 'array',
        items: { schema: itemOf(schema.items), root },
        min: schema.minItems,
        max: schema.maxItems,
      };
    case 'object':
      return objectShape(schema, root);
    default:
      return { kind: type };
  }
}

const itemOf = (items) => (Array.isArray(items) ? { anyOf: items } : (items ?? true));

function objectShape({ properties = {}, required = [], additionalProperties = true }, root) {
  const members = Object.fromEntries(Object.entries(properties).map(([member, schema]) => [member, { schema, root }]));
  const isTable = typeof additionalProperties === 'object' && !('not' in additionalProperties);
  const others = additionalProperties === false ? undefined : { schema: additionalProperties, root };
  return { kind: 'object', members, required, isTable, others };
}

const nameOf = ({ kind, value }) =>
  value !== undefined ? JSON.stringify(value) : kind === 'null' ? 'null' : `any ${kind}`;

const ids = new WeakMap();
let nextId = 0;

/** The same for the same schema object. */
function keyOf({ schema }) {
  if (typeof schema === 'boolean') return String(schema);
  if (!ids.has(schema)) ids.set(schema, ++nextId);
  return ids.get(schema);
}
