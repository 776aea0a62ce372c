// A form that is filled in on a command line: field by field, or as JSON.

import { type Field, fieldsOf } from '../approvals/form.ts';
import { AppError } from '../base/errors.ts';
import type { ElicitationForm, ElicitationValue } from '../model/elicitation.ts';
import { valueTyped } from './form-words.ts';
import { visible } from './terminal.ts';

interface Typed {
  readonly decision: string | undefined;
  /** `field=answer` each; one that takes several may be named several times. */
  readonly said: readonly string[];
  /** JSON of an object. */
  readonly content?: string | undefined;
}

/** In the form in which MCP servers are answered. Rejects as *invalid*, and repeats nothing of what was filled in. */
export function filledIn(form: ElicitationForm, { decision, said, content }: Typed): Record<string, unknown> {
  const isFilledIn = said.length > 0 || content !== undefined;
  const action = decision ?? (isFilledIn ? 'accept' : undefined);
  if (action === undefined || !['accept', 'decline', 'cancel'].includes(action))
    throw new AppError('invalid', 'type one of these decisions: accept, decline, cancel');
  if (action !== 'accept') {
    if (isFilledIn)
      throw new AppError('invalid', `\`--say\` and \`--content\` go with \`accept\`, not with \`${action}\``);
    return { action };
  }
  if (said.length > 0 && content !== undefined)
    throw new AppError('invalid', 'give either `--say` or `--content`, not both');
  return { action, content: content === undefined ? contentOf(fieldsOf(form), said) : objectOf(content) };
}

function objectOf(content: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new AppError('invalid', '`--content` is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AppError('invalid', '`--content` has to be an object: {"field": value}');
  return value as Record<string, unknown>;
}

function contentOf(fields: readonly Field[], said: readonly string[]): Record<string, ElicitationValue> {
  const words = new Map<Field, string[]>();
  for (const each of said) {
    const at = each.indexOf('=');
    if (at < 1) throw new AppError('invalid', 'a `--say` has no `=`; type `--say field=answer`');
    const field = fields.find(({ name }) => name === each.slice(0, at));
    if (!field)
      throw new AppError('invalid', `there is no field ${visible(each.slice(0, at))}; there is ${namesOf(fields)}`);
    words.set(field, [...(words.get(field) ?? []), each.slice(at + 1)]);
  }
  return Object.fromEntries([...words].map(([field, given]) => [field.name, filledValue(field, given)]));
}

const namesOf = (fields: readonly Field[]): string =>
  fields.length === 0 ? 'none' : fields.map(({ name }) => visible(name)).join(', ');

function filledValue(field: Field, given: readonly string[]): ElicitationValue {
  if (given.length > 1 && field.kind !== 'several')
    throw new AppError('invalid', `the field ${visible(field.name)} takes one answer; give it once`);
  const read = valueTyped(field, given.join(','));
  if ('problem' in read)
    throw new AppError('invalid', `the field ${visible(field.name)} does not fit: ${read.problem}`);
  return read.value;
}
