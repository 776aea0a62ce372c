// The fields of a form in words for people, and what they type into them as values.

import { type Field, type Option, problemOf, wordsOfFormat } from '../approvals/form.ts';
import type { ElicitationValue } from '../model/elicitation.ts';
import { folded, visible } from './terminal.ts';

interface Limits {
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
}

function limitsOf({ minimum, maximum }: Limits, what = ''): string {
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}${what}`;
  if (minimum !== undefined) return `, at least ${minimum}${what}`;
  return maximum === undefined ? '' : `, at most ${maximum}${what}`;
}

function kindOf(field: Field): string {
  switch (field.kind) {
    case 'text':
      return `${wordsOfFormat(field.format) ?? 'text'}${limitsOf(field, ' characters')}`;
    case 'number':
      return `${field.isWhole ? 'a whole number' : 'a number'}${limitsOf(field)}`;
    case 'yesNo':
      return 'yes or no';
    case 'one':
      return 'one of these';
    case 'several':
      return `${field.options ? 'any of these' : 'texts'}, with commas between them${limitsOf(field, ' of them')}`;
    case 'unknown':
      return 'text';
  }
}

const optionsOf = (field: Field): readonly Option[] =>
  field.kind === 'one' || field.kind === 'several' ? (field.options ?? []) : [];

const titleOf = (field: Field, value: string): string =>
  optionsOf(field).find((option) => option.value === value)?.title ?? value;

/** A value as it is shown. */
export function shownValue(field: Field, value: ElicitationValue): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const words = Array.isArray(value) ? value.map((each) => titleOf(field, each)).join(', ') : String(value);
  return visible(typeof value === 'string' ? titleOf(field, value) : words);
}

/** All there is to know about a field; its name is that by which scripts fill it in. */
export function fieldLines(field: Field, width: number): readonly string[] {
  const { name, title, description, isRequired, suggested } = field;
  const named = title === name ? visible(name) : `${visible(title)} (${visible(name)})`;
  const need = isRequired ? 'needed' : 'may stay empty';
  const proposal = suggested === undefined ? '' : `; suggested: ${shownValue(field, suggested)}`;
  return [
    ...folded(`${named}: ${kindOf(field)}, ${need}${proposal}`, width),
    ...(description === undefined ? [] : folded(visible(description), width - 2).map((line) => `  ${line}`)),
    ...optionLines(field, width),
  ];
}

/** What there is to choose from, with the numbers by which it can be chosen. */
export function optionLines(field: Field, width: number): readonly string[] {
  return optionsOf(field).flatMap(({ value, title }, at) => {
    const same = title === value ? '' : ` (${visible(value)})`;
    return folded(`${at + 1}) ${visible(title)}${same}`, width - 2).map((part) => `  ${part}`);
  });
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;
const YES = ['y', 'yes', 'true'];
const NO = ['n', 'no', 'false'];

/** What was typed as a value of the field, or why it is none. */
export function valueTyped(
  field: Field,
  typed: string,
): { readonly value: ElicitationValue } | { readonly problem: string } {
  const value = meantBy(field, typed.trim());
  const problem = problemOf(field, value);
  return problem === undefined ? { value: value as ElicitationValue } : { problem };
}

function meantBy(field: Field, words: string): unknown {
  switch (field.kind) {
    case 'number':
      return NUMBER.test(words) ? Number(words) : undefined;
    case 'yesNo':
      if (YES.includes(words.toLowerCase())) return true;
      return NO.includes(words.toLowerCase()) ? false : undefined;
    case 'one':
      return optionTyped(field.options, words);
    case 'several': {
      const parts = words.split(',').map((part) => part.trim());
      const { options } = field;
      const meant = parts.filter((part) => part !== '');
      return options ? meant.map((part) => optionTyped(options, part) ?? part) : meant;
    }
    case 'text':
    case 'unknown':
      return words;
  }
}

/** By what it is, what it is called, or its number in the list, in this order. */
function optionTyped(options: readonly Option[], words: string): string | undefined {
  const said = words.toLowerCase();
  const byNumber = /^\d{1,4}$/.test(words) ? options[Number(words) - 1] : undefined;
  const found =
    options.find(({ value }) => value === words) ??
    options.find(({ value, title }) => value.toLowerCase() === said || title.toLowerCase() === said) ??
    byNumber;
  return found?.value;
}
