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

/** Comparisons of one search; what needs more would keep everybody else waiting. */
const MAX_STEPS = 20_000_000;

export class LineSearch {
  /** The file in each form; made when first needed. */
  readonly #forms: (readonly string[])[];
  #steps = 0;

  constructor(lines: readonly string[]) {
    this.#forms = [lines];
  }

  /**
   * Where the lines begin at or behind `from`, in the strictest form in which they are found at all; with `isAtEnd` only as the
   * last lines of the file. Throws a PatchProblem when the search takes too long.
   */
  find(wanted: readonly string[], from: number, isAtEnd: boolean): number | undefined {
    for (const [index, form] of FORMS.entries()) {
      const lines = this.#form(index);
      const found = this.#scan(lines, wanted.map(form), from, isAtEnd);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #form(index: number): readonly string[] {
    const made = this.#forms[index] ?? this.#forms[0]!.map(FORMS[index]!);
    this.#forms[index] = made;
    return made;
  }

  #scan(lines: readonly string[], wanted: readonly string[], from: number, isAtEnd: boolean): number | undefined {
    const last = lines.length - wanted.length;
    for (let start = isAtEnd ? Math.max(from, last) : from; start <= last; start++) {
      let same = 0;
      while (same < wanted.length && lines[start + same] === wanted[same]) same += 1;
      if (same === wanted.length) return start;
      this.#steps += same + 1;
      if (this.#steps > MAX_STEPS) throw new PatchProblem('the patch takes too long to be fitted to so large a file');
    }
    return undefined;
  }
}
