// All threads of a history, whatever is left of their tables.

import type { ThreadId } from '../model/ids.ts';
import { HIGHEST, type Key, named } from './keys.ts';
import type { Rows } from './rows.ts';

/** Steps from thread to thread, and from tenant to tenant, without reading what lies between. */
export function* threadsIn(rows: Rows, only?: ThreadId): Generator<{ readonly tenant: string; readonly name: string }> {
  let place = firstKey(rows, [''], [HIGHEST]);
  while (place !== undefined) {
    const tenant = place[0] as string;
    if (only !== undefined) yield { tenant, name: named(only) };
    else for (const name of namesIn(rows, tenant)) yield { tenant, name };
    place = firstKey(rows, [tenant, HIGHEST], [HIGHEST]);
  }
}

const firstKey = (rows: Rows, from: Key, to: Key): Key | undefined => rows.scan({ from, to, limit: 1 })[0]?.key;

/** The threads of one tenant, as they stand in keys. */
export function* namesIn(rows: Rows, tenant: string): Generator<string> {
  const end = [tenant, 't', HIGHEST];
  for (let key = firstKey(rows, [tenant, 't'], end); key !== undefined; ) {
    const name = key[2] as string;
    yield name;
    key = firstKey(rows, [tenant, 't', name, HIGHEST], end);
  }
}

export function tenantsIn(rows: Rows): string[] {
  const tenants: string[] = [];
  for (let from: Key = ['']; ; ) {
    const [row] = rows.scan({ from, to: [HIGHEST], limit: 1 });
    if (row === undefined) return tenants;
    const tenant = row.key[0] as string;
    tenants.push(tenant);
    from = [tenant, HIGHEST];
  }
}
