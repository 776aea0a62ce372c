// Appends until the disk refuses, and says how that looked.

import { silentLog } from '../../../src/base/log.ts';
import { openLmdbHistory } from '../../../src/history/lmdb.ts';
import { at, contextAdded, threadMeta, turnStarted } from '../../harness/history-events.ts';

let unhandled = 0;
process.on('unhandledRejection', () => {
  unhandled += 1;
});
const history = await openLmdbHistory({ directory: process.argv[2] as string, log: silentLog() });
const store = history.forTenant('local');
let head = await store.create(threadMeta('t'), at(1, turnStarted('u')));
let refusal: unknown;
for (let attempt = 0; attempt < 1000 && refusal === undefined; attempt += 1)
  try {
    head = await store.append('t', head, at(1, contextAdded('u', 'x'.repeat(15_000))));
  } catch (error) {
    refusal = error;
  }
await new Promise((resolve) => setImmediate(resolve));
const { kind, message } = refusal as { kind: string; message: string };
console.log(JSON.stringify({ kind, message, refusedAt: head, head: await store.head('t'), unhandled }));
await history.close();
