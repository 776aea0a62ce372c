// Replaces a file without end, each time with one letter only, and prints the letter once it is in place.

import { writeSync } from 'node:fs';
import { localPrincipal } from '../../src/auth/principal.ts';
import { silentLog } from '../../src/base/log.ts';
import { openLeftovers } from '../../src/fs/leftovers.ts';
import { createReaches } from '../../src/fs/reach.ts';
import { Replacement } from '../../src/fs/replacement.ts';
import { Queues } from '../../src/rpc/queues.ts';

const [path, notes] = process.argv.slice(2) as [string, string];
const PIECE = 64 * 1024;
const PIECES = 16;

const commits = { queues: new Queues(), leftovers: await openLeftovers(notes, silentLog()) };
const reach = await createReaches({ roots: async () => [], hidden: () => [], denied: async () => undefined }).of(
  localPrincipal,
);
for (let round = 0; ; round += 1) {
  const letter = String.fromCharCode(97 + (round % 26));
  const place = await reach.place(path, 'target');
  const replacement = await Replacement.begin(place, commits);
  for (let piece = 0; piece < PIECES; piece += 1) await replacement.write(Buffer.alloc(PIECE, letter));
  await replacement.commit();
  await place.close();
  writeSync(1, `${letter}\n`);
}
