// Makes the pages of docs/ that follow from the source: node --import tsx scripts/docs.mjs
import fs from 'node:fs';
import { methodsPage } from './methods-page.mjs';

const at = (place) => new URL(`../${place}`, import.meta.url);

const exchanges = JSON.parse(fs.readFileSync(at('test/fixtures/exchanges.json'), 'utf8'));
fs.writeFileSync(at('docs/methods.md'), methodsPage(exchanges));
