// The differences between two texts as unified hunks, line by line.

/** Lines of context around each change. */
const CONTEXT = 3;
/** Edits up to which the shortest way is looked for; beyond it what lies between the first and the last change is replaced whole. */
const MAX_EDITS = 600;
/** The same for comparisons of lines: with many equal ones each edit looks through all of them again. */
export const MAX_STEPS = 20_000_000;

/** Comparisons that several texts may take together; what is left goes down. */
export interface Effort {
  steps: number;
}

/** `keep` in both; `remove` only in the old text, `add` only in the new one. */
interface Edit {
  readonly sign: ' ' | '-' | '+';
  readonly line: string;
}

/** Hunks without a header for the file; empty when the texts are the same. */
export function unifiedDiff(before: string, after: string, effort: Effort = { steps: MAX_STEPS }): string {
  if (before === after) return '';
  const edits = editsBetween(split(before), split(after), effort);
  const changed = edits.flatMap(({ sign }, index) => (sign === ' ' ? [] : [index]));
  let text = '';
  let [oldLine, newLine, done] = [0, 0, 0];
  for (let first = 0; first < changed.length; ) {
    let last = first;
    while (last + 1 < changed.length && changed[last + 1]! - changed[last]! <= 2 * CONTEXT + 1) last += 1;
    const start = Math.max(0, changed[first]! - CONTEXT);
    const end = Math.min(edits.length, changed[last]! + CONTEXT + 1);
    oldLine += start - done;
    newLine += start - done;
    const hunk = edits.slice(start, end);
    const olds = hunk.filter(({ sign }) => sign !== '+').length;
    const news = hunk.filter(({ sign }) => sign !== '-').length;
    text += `@@ -${range(oldLine, olds)} +${range(newLine, news)} @@\n${hunk.map(shown).join('')}`;
    oldLine += olds;
    newLine += news;
    done = end;
    first = last + 1;
  }
  return text;
}

/** As git writes it: one line needs no count, and no line lies behind the one before. */
function range(before: number, count: number): string {
  if (count === 1) return String(before + 1);
  return count === 0 ? `${before},0` : `${before + 1},${count}`;
}

const shown = ({ sign, line }: Edit): string =>
  line.endsWith('\n') ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`;

/** Lines with their ends. */
const split = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function editsBetween(old: readonly string[], now: readonly string[], effort: Effort): readonly Edit[] {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  const most = Math.min(old.length, now.length) - head;
  while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const [a, b] = [old.slice(head, old.length - tail), now.slice(head, now.length - tail)];
  const keep = (line: string): Edit => ({ sign: ' ', line });
  return [
    ...old.slice(0, head).map(keep),
    ...(shortest(a, b, effort) ?? replaced(a, b)),
    ...old.slice(old.length - tail).map(keep),
  ];
}

const replaced = (a: readonly string[], b: readonly string[]): Edit[] => [
  ...a.map((line): Edit => ({ sign: '-', line })),
  ...b.map((line): Edit => ({ sign: '+', line })),
];

/** By Myers' method: for each number of edits, how far each diagonal gets. Undefined when too many edits are needed. */
function shortest(a: readonly string[], b: readonly string[], effort: Effort): Edit[] | undefined {
  if (a.length === 0 || b.length === 0) return replaced(a, b);
  const reach: Int32Array[] = [];
  const far = new Int32Array(2 * MAX_EDITS + 3);
  const middle = MAX_EDITS + 1;
  const least = Math.max(0, effort.steps - MAX_STEPS);
  for (let edits = 0; edits <= MAX_EDITS; edits++) {
    reach.push(far.slice(middle - edits - 1, middle + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const comesDown =
        diagonal === -edits || (diagonal !== edits && at(far, middle + diagonal - 1) < at(far, middle + diagonal + 1));
      let x = comesDown ? at(far, middle + diagonal + 1) : at(far, middle + diagonal - 1) + 1;
      const from = x;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
      far[middle + diagonal] = x;
      effort.steps -= x - from + 1;
      if (effort.steps < least) return undefined;
      if (x >= a.length && x - diagonal >= b.length) return wayBack(a, b, reach);
    }
  }
  return undefined;
}

const at = (numbers: Int32Array, index: number): number => numbers[index] ?? 0;

function wayBack(a: readonly string[], b: readonly string[], reach: readonly Int32Array[]): Edit[] {
  const edits: Edit[] = [];
  let [x, y] = [a.length, b.length];
  for (let count = reach.length - 1; count >= 0; count--) {
    const far = reach[count]!;
    const middle = count + 1;
    const diagonal = x - y;
    const comesDown =
      diagonal === -count || (diagonal !== count && at(far, middle + diagonal - 1) < at(far, middle + diagonal + 1));
    const before = comesDown ? diagonal + 1 : diagonal - 1;
    const fromX = count === 0 ? 0 : at(far, middle + before);
    const fromY = count === 0 ? 0 : fromX - before;
    while (x > fromX && y > fromY) {
      edits.push({ sign: ' ', line: a[--x]! });
      y -= 1;
    }
    if (count === 0) break;
    if (comesDown) edits.push({ sign: '+', line: b[--y]! });
    else edits.push({ sign: '-', line: a[--x]! });
  }
  return edits.reverse();
}
