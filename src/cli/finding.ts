// What the doctor has found about one thing, and how it is printed.

import type { Paint } from './terminal.ts';
import { visible } from './terminal.ts';

export interface Finding {
  /** `bad`: turns, or their safety, suffer from it. */
  readonly state: 'good' | 'doubtful' | 'bad';
  readonly about: string;
  readonly text: string;
  /** What to do about it. */
  readonly advice?: string;
}

export const good = (about: string, text: string): Finding => ({ state: 'good', about, text });
export const doubtful = (about: string, text: string, advice: string): Finding => ({
  ...{ state: 'doubtful', about, text, advice },
});
export const bad = (about: string, text: string, advice: string): Finding => ({ state: 'bad', about, text, advice });

const MARKS = { good: 'ok      ', doubtful: 'doubtful', bad: 'wrong   ' } as const;
const STYLES = { good: 'dim', doubtful: 'yellow', bad: 'red' } as const;

export function linesOf({ state, about, text, advice }: Finding, paint: Paint): readonly string[] {
  const indent = ' '.repeat(MARKS.good.length + 2);
  return [
    `${paint(STYLES[state], MARKS[state])}  ${about}: ${visible(text)}`,
    ...(advice === undefined ? [] : [`${indent}${visible(advice)}`]),
  ];
}
