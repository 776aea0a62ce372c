// Results as a table of text: a line a figure, a column a target, ratios and what is aimed at beside them.
import { quantile } from './meter.mjs';

const SUBJECT = 'heddle';
const MEASURE = 'reference';
/** A share of deltas below this is told: some came merged with their neighbours. */
const ALL_OWN = 0.999;

const number = (value) =>
  value >= 1_000
    ? Math.round(value).toLocaleString('en-US')
    : value >= 100
      ? value.toFixed(0)
      : value >= 10
        ? value.toFixed(1)
        : value.toFixed(2);

/** The median of the rounds that were measured, else what became of them. */
function median(rounds, name) {
  const values = rounds.map((round) => round[name]).filter((value) => Number.isFinite(value));
  if (values.length > 0) return quantile(values, 0.5);
  return rounds[0]?.outcome ?? 'unknown';
}

const cell = (value) => (typeof value === 'number' ? number(value) : value);

export function printTable(results, names, rounds) {
  const lines = [['', '', ...names, 'target', `${SUBJECT} / ${MEASURE}`, 'target']];
  const notes = [];
  for (const { row, found } of results) {
    for (const [name, figure] of Object.entries(row.figures)) {
      const values = names.map((target) => median(found.get(target), name));
      const [ours, theirs] = [SUBJECT, MEASURE].map((target) => values[names.indexOf(target)]);
      const ratio = typeof ours === 'number' && typeof theirs === 'number' ? (ours / theirs).toFixed(2) : '';
      lines.push([figure.label, figure.unit, ...values.map(cell), figure.target, ratio, figure.ratio]);
    }
    for (const target of names) {
      const own = median(found.get(target), 'own');
      if (typeof own === 'number' && own < ALL_OWN)
        notes.push(
          `${row.id}, ${target}: ${(own * 100).toFixed(1)} % of the deltas came as notifications of their own`,
        );
    }
  }
  const widths = lines[0].map((_cell, column) => Math.max(...lines.map((line) => line[column].length)));
  console.log(`\nMedians of ${rounds} rounds; targets are those for heddle\n`);
  for (const line of lines) {
    console.log(
      line
        .map((text, column) => (column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column])))
        .join('  ')
        .trimEnd(),
    );
  }
  for (const note of notes) console.log(note);
}
