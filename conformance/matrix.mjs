// Tables of what was driven: printed by the run that drove it, and put into docs/compatibility.md between two marks.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const PAGE = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', 'docs', 'compatibility.md');

/** A row: `{ cells, worked, steps }`, where the cells come before whether it worked. */
export function table(heads, rows) {
  const lines = rows.map(
    ({ cells, worked, steps }) => `| ${[...cells, worked ? 'works' : 'FAILS', steps.join(', ')].join(' | ')} |`,
  );
  const head = [...heads, '', 'what was driven'];
  return [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...lines].join('\n');
}

/** Replaces what stands between the marks of this name. */
export function writeTable(name, text) {
  const page = fs.readFileSync(PAGE, 'utf8');
  const [first, last] = [`<!-- table: ${name} -->`, `<!-- end of table: ${name} -->`];
  const [before, after] = [page.indexOf(first), page.indexOf(last)];
  if (before < 0 || after < before) throw new Error(`${PAGE} has no place for the table ${name}`);
  fs.writeFileSync(PAGE, `${page.slice(0, before)}${first}\n${text}\n${page.slice(after)}`);
}
