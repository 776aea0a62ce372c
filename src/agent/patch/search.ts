// Finds lines of a patch in a file: as they are, else without the white space at their ends, else without any around them.

import { PatchProblem } from './change.ts';

/** From the strictest to the most lenient; the last takes typographic signs for the plain ones that models write. */
const FORMS: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  (line) =>
    line
      .trim()
      .replace(/[\u2010-\u2015\u2212]/g, '-')
      .replace(/[\u2018-\u201b]/g, "'")
      .replace(/[\u201c-\u201f]/g, '"')
      .replace(/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, ' '),
];

/** How many comparisons may still be made. */
export interface Effort {
  left: number;
}

/** For one patch; what needs more would keep everybody else waiting. */
export const fullEffort = (): Effort => ({ left: 20_000_000 });

/** Lines as numbers, the same for the same lines: comparing long ones again and again would take its time. */
interface Numbered {
  readonly lines: readonly number[];
  readonly numbers: ReadonlyMap<string, number>;
}

export class LineSearch {
  readonly #lines: readonly string[];
  /** The file in each form; made when first needed. */
  readonly #forms: Numbered[] = [];
  readonly #effort: Effort;

  constructor(lines: readonly string[], effort: Effort) {
    this.#lines = lines;
    this.#effort = effort;
  }

  /**
   * Where the lines begin at or behind `from`, in the strictest form in which they are found at all; with `isAtEnd` only as the
   * last lines of the file. Throws a PatchProblem when the search takes too long.
   */
  find(wanted: readonly string[], from: number, isAtEnd: boolean): number | undefined {
    for (const [index, form] of FORMS.entries()) {
      const { lines, numbers } = this.#form(index, form);
      const sought = wanted.map((line) => numbers.get(form(line)) ?? NOWHERE);
      const found = sought.includes(NOWHERE) ? undefined : this.#scan(lines, sought, from, isAtEnd);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #form(index: number, form: (line: string) => string): Numbered {
    this.#forms[index] ??= numbered(this.#lines, form);
    return this.#forms[index];
  }

  #scan(lines: readonly number[], wanted: readonly number[], from: number, isAtEnd: boolean): number | undefined {
    const last = lines.length - wanted.length;
    for (let start = isAtEnd ? Math.max(from, last) : from; start <= last; start++) {
      let same = 0;
      while (same < wanted.length && lines[start + same] === wanted[same]) same += 1;
      if (same === wanted.length) return start;
      this.#effort.left -= same + 1;
      if (this.#effort.left < 0) throw new PatchProblem('the patch takes too long to be fitted to so large a file');
    }
    return undefined;
  }
}

/** The number of a line that the file does not hold. */
const NOWHERE = -1;

function numbered(lines: readonly string[], form: (line: string) => string): Numbered {
  const numbers = new Map<string, number>();
  const inForm = lines.map((line) => {
    const text = form(line);
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  });
  return { lines: inForm, numbers };
}
