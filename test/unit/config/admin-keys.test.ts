// The pages name every setting that only administrators write, and no other.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ADMIN_KEYS } from '../../../src/config/writes.ts';

test('the list on the page of the configuration is the one that is enforced', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url)), 'utf8');
  const [, list] = /Settings below([^.]*)need the permission `admin`/.exec(page) ?? [];
  const named = [...(list ?? '').matchAll(/`(\w+)`/g)].map(([, key]) => key);
  expect(named).toEqual([...ADMIN_KEYS].toSorted());
});
