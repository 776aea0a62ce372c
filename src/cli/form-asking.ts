// A form at the terminal: field by field, shown once more as a whole, and sent only then.

import type { z } from 'zod';
import { type Field, fieldsOf } from '../approvals/form.ts';
import type { ElicitationAnswer } from '../approvals/requests.ts';
import type { ElicitationForm, ElicitationValue } from '../model/elicitation.ts';
import { type Choice, choiceTyped, promptOf } from './choices.ts';
import type { ExecOutput } from './exec-output.ts';
import { optionLines, shownValue, valueTyped } from './form-words.ts';
import { folded, visible } from './terminal.ts';
import type { Asking } from './terminal-asking.ts';

type Filled = ReadonlyMap<Field, ElicitationValue>;
type Decision = 'accept' | 'again' | 'decline' | 'cancel';

const LAST_WORD: readonly Choice<Decision>[] = [
  { key: 'y', word: 'yes', meaning: 'send it', decision: 'accept' },
  { key: 'e', word: 'edit', meaning: 'fill it in again', decision: 'again' },
  { key: 'n', word: 'no', meaning: 'no', decision: 'decline' },
  { key: 'c', word: 'cancel', meaning: 'neither yes nor no', decision: 'cancel' },
];

/** Leaves a field empty for which something is suggested. */
const NOTHING = '-';

/** Rejects when nothing more will be typed, or on abort. */
export async function fillIn(
  form: ElicitationForm,
  asking: Asking,
  output: Pick<ExecOutput, 'note'>,
  signal: AbortSignal,
): Promise<z.input<ReturnType<typeof ElicitationAnswer>>> {
  const fields = fieldsOf(form);
  let filled: Filled = new Map();
  for (;;) {
    filled = await fillAll(fields, filled, asking, output, signal);
    const decision = fields.length === 0 ? 'accept' : await lastWord(filled, asking, output, signal);
    if (decision === 'accept') {
      const content = Object.fromEntries([...filled].map(([{ name }, value]) => [name, value]));
      return { action: decision, content };
    }
    if (decision !== 'again') return { action: decision, content: null };
  }
}

/** `before`: what is suggested now in place of what the server suggests. */
async function fillAll(
  fields: readonly Field[],
  before: Filled,
  asking: Asking,
  output: Pick<ExecOutput, 'note'>,
  signal: AbortSignal,
): Promise<Filled> {
  const filled = new Map<Field, ElicitationValue>();
  for (const field of fields) {
    const suggested = before.get(field) ?? field.suggested;
    for (const line of optionLines(field, asking.width)) output.note(line, 'yellow');
    const value = await askField(field, suggested, asking, output, signal);
    if (value !== undefined) filled.set(field, value);
  }
  return filled;
}

async function askField(
  field: Field,
  suggested: ElicitationValue | undefined,
  asking: Asking,
  output: Pick<ExecOutput, 'note'>,
  signal: AbortSignal,
): Promise<ElicitationValue | undefined> {
  const hint = suggested === undefined ? '' : ` [${shownValue(field, suggested)}]`;
  const without = suggested !== undefined && !field.isRequired ? ` (${NOTHING} for nothing)` : '';
  const prompt = `${folded(`${visible(field.title)}${hint}${without}`, asking.width - 2).join('\n')}: `;
  for (;;) {
    const typed = (await asking.prompt(prompt, signal)).trim();
    if (typed === '' && suggested !== undefined) return suggested;
    if ((typed === '' || (typed === NOTHING && without !== '')) && !field.isRequired) return undefined;
    const read = typed === '' ? { problem: 'it is needed' } : valueTyped(field, typed);
    if ('value' in read) return read.value;
    for (const line of folded(read.problem, asking.width)) output.note(line, 'red');
  }
}

async function lastWord(
  filled: Filled,
  asking: Asking,
  output: Pick<ExecOutput, 'note'>,
  signal: AbortSignal,
): Promise<Decision> {
  output.note('This would be sent to the server:', 'yellow');
  if (filled.size === 0) output.note('    nothing is filled in', 'yellow');
  for (const [field, value] of filled)
    for (const line of folded(`${visible(field.title)}: ${shownValue(field, value)}`, asking.width - 4))
      output.note(`    ${line}`, 'yellow');
  const prompt = promptOf(LAST_WORD, asking);
  for (;;) {
    const chosen = choiceTyped(LAST_WORD, await asking.prompt(prompt, signal));
    if (chosen) return chosen.decision;
  }
}
