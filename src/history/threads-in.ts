// All threads of a history, whatever is left of their tables.

import type { ThreadId } from '../model/ids.ts';
import { HIGHEST, type Key, named } from './keys.ts';
import type { Rows } from './rows.ts';

/** Steps from thread to thread, and from tenant to tenant, without reading what lies between. */
export function* threadsIn(rows: Rows, only?: ThreadId): Generator<{ readonly tenant: string; readonly name: string }> {
  const first = (from: Key, to: Key): Key | undefined => rows.scan({ from, to, limit: 1 })[0]?.key;
  let place: Key | undefined = first([''], [HIGHEST]);
  while (place !== undefined) {
    const tenant = place[0] as string;
    if (only !== undefined) yield { tenant, name: named(only) };
    let thread = only === undefined ? first([tenant, 't'], [tenant, 't', HIGHEST]) : undefined;
    while (thread !== undefined) {
      const name = thread[2] as string;
      yield { tenant, name };
      thread = first([tenant, 't', name, HIGHEST], [tenant, 't', HIGHEST]);
    }
    place = first([tenant, HIGHEST], [HIGHEST]);
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
