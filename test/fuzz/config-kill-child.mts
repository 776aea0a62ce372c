// Writes one setting without end, each time with the next number, and prints the number once it is in place.

import { writeSync } from 'node:fs';
import { createConfigEditor } from '../../src/config/editor.ts';

const [file, first] = process.argv.slice(2) as [string, string];

const editor = createConfigEditor(file);
for (let round = Number(first); ; round += 1) {
  await editor.write([{ path: ['round'], value: round, mergeStrategy: 'replace' }]);
  writeSync(1, `${round}\n`);
}
