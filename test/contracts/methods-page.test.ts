// The method reference is what the declarations and the recorded exchanges make of it now.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { clientNotifications, notifications, requests, serverRequests } from '../../src/protocol.ts';

const at = (place: string): string => fileURLToPath(new URL(`../../${place}`, import.meta.url));

const page = readFileSync(at('docs/methods.md'), 'utf8');

test('docs/methods.md is up to date: `npm run docs` makes it anew', async () => {
  const { methodsPage } = await import(at('scripts/methods-page.mjs'));
  const exchanges = JSON.parse(readFileSync(at('test/fixtures/exchanges.json'), 'utf8'));
  expect(page).toBe(methodsPage(exchanges));
});

test('every declared message has its place in it', () => {
  const all = [requests, serverRequests, notifications, clientNotifications].flatMap((group) => Object.values(group));
  expect(all.filter(({ method }) => !page.includes(`\n### \`${method}\`\n`)).map(({ method }) => method)).toEqual([]);
});
