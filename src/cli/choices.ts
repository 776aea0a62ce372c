// What can be typed at the terminal to a question: a key for each decision that is offered, in words.

import type { z } from 'zod';
import { WireDecision } from '../approvals/requests.ts';
import { displayCommand } from '../children/shell-quote.ts';
import type { Question } from './questions.ts';
import { folded, visible } from './terminal.ts';
import type { Asking } from './terminal-asking.ts';

/** `acceptAlways`: the tool is not asked about any more. */
export type Decision = z.output<ReturnType<typeof WireDecision>> | 'acceptAlways';

export interface Choice<D = Decision> {
  readonly key: string;
  /** May be typed in place of the key. */
  readonly word: string;
  readonly meaning: string;
  readonly decision: D;
}

const PLAIN: readonly Choice[] = [
  { key: 'y', word: 'yes', meaning: 'yes', decision: 'accept' },
  { key: 's', word: 'session', meaning: 'yes, for this session', decision: 'acceptForSession' },
  { key: 'a', word: 'always', meaning: 'yes, and this tool always', decision: 'acceptAlways' },
  { key: 'n', word: 'no', meaning: 'no', decision: 'decline' },
  { key: 'c', word: 'cancel', meaning: 'no, and stop the turn', decision: 'cancel' },
];

/** In the order of the offer; what this version has no words for is left out. */
export function choicesOf({
  availableDecisions,
  meanings = {},
}: Pick<Question, 'availableDecisions' | 'meanings'>): readonly Choice[] {
  return availableDecisions.flatMap((each) => {
    const plain = PLAIN.find(({ decision }) => decision === each);
    if (plain) return [{ ...plain, meaning: meanings[String(each)] ?? plain.meaning }];
    const rule = WireDecision().safeParse(each).data;
    if (typeof rule !== 'object') return [];
    const words = rule.acceptWithExecpolicyAmendment.execpolicy_amendment;
    const meaning = `yes, and always what begins with: ${visible(displayCommand(words))}`;
    return [{ key: 'a', word: 'always', meaning, decision: rule }];
  });
}

/** On one line where that fits. */
export function promptOf(
  choices: readonly Pick<Choice, 'key' | 'meaning'>[],
  { width }: Pick<Asking, 'width'>,
): string {
  const labels = choices.map(({ key, meaning }) => `[${key}] ${meaning}`);
  const oneLine = labels.join('  ');
  if (oneLine.length + 2 <= width) return `${oneLine}: `;
  return `${labels.flatMap((label) => folded(label, width - 2)).join('\n')}: `;
}

export const choiceTyped = <D>(choices: readonly Choice<D>[], typed: string): Choice<D> | undefined => {
  const said = typed.trim().toLowerCase();
  return choices.find(({ key, word }) => said === key || said === word);
};
