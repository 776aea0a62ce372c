// What the doctor has found about one thing, and how it is printed.

import type { Paint } from './terminal.ts';
import { folded, visible } from './terminal.ts';

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

/** Each at most `width` characters long, where words allow it. */
export function linesOf({ state, about, text, advice }: Finding, paint: Paint, width: number): readonly string[] {
  const indent = ' '.repeat(MARKS.good.length + 2);
  const [first, ...more] = folded(visible(`${about}: ${text}`), width - indent.length);
  const below = [...more, ...(advice === undefined ? [] : folded(visible(advice), width - indent.length))];
  return [`${paint(STYLES[state], MARKS[state])}  ${first}`, ...below.map((line) => `${indent}${line}`)];
}
