// Flips single bits of a database file and reads all of it; one line for each flip, so that it is known which one ended the process.

import { readFileSync, writeFileSync } from 'node:fs';
import { isAppError } from '../../src/base/errors.ts';
import { keysOf } from '../../src/history/keys.ts';
import { recordsFile } from '../../src/history/places.ts';
import { openReadOnly } from '../../src/history/read-only.ts';
import { threadsIn } from '../../src/history/threads-in.ts';
import { verifyHistory } from '../../src/history/verify.ts';

const directory = process.argv[2] as string;
const [seed, from, to] = process.argv.slice(3).map(Number) as [number, number, number];
const file = recordsFile(directory);
const whole = readFileSync(`${file}.whole`);

/** Every record of every log, by tenant, thread and number. */
async function recordsOf(): Promise<Map<string, string>> {
  const history = await openReadOnly(directory);
  const records = new Map<string, string>();
  try {
    for (const { tenant, name } of threadsIn(history.rows)) {
      const keys = keysOf(tenant);
      // Without a head there is no such thread for anybody.
      if (history.rows.raw(keys.head(name)) === undefined) continue;
      const range = { from: keys.log(name, 0), to: keys.log(name, Number.MAX_SAFE_INTEGER), limit: 100_000 };
      for (const { key, text, isDamaged } of history.rows.scan(range))
        if (!isDamaged && text.endsWith(`"seq":${key[4]}}`)) records.set(JSON.stringify(key), text);
    }
  } finally {
    await history.close();
  }
  return records;
}

writeFileSync(file, whole);
const truth = await recordsOf();
for (let round = from; round < to; round += 1) {
  // A number that depends on seed and round alone, so that a run can go on where the last one was ended.
  let state = (Math.imul(seed + round, 2_654_435_761) ^ 0x9e37_79b9) >>> 0;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const flipped = Buffer.from(whole);
  const place = next(flipped.length);
  flipped[place] = (flipped[place] as number) ^ (1 << next(8));
  writeFileSync(file, flipped);
  process.stdout.write(`${JSON.stringify({ round, place, begins: true })}\n`);
  let verdict: string;
  let lies = 0;
  try {
    const { damages, records } = await verifyHistory(directory);
    verdict = damages.length > 0 ? 'damaged' : records === truth.size ? 'whole' : 'fewer';
    for (const [key, text] of await recordsOf()) if (truth.get(key) !== text) lies += 1;
  } catch (error) {
    verdict = isAppError(error) ? 'refused' : `thrown: ${String(error)}`;
  }
  process.stdout.write(`${JSON.stringify({ round, place, verdict, lies })}\n`);
}
