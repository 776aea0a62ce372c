// Watches of the roots of skills: changes are told, and of too many roots those asked for longest ago are let go.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { RootWatches } from '../../../src/skills/root-watches.ts';
import { cleanUp, temporaryFolder } from '../../harness/start-app.ts';

let watches: RootWatches | undefined;
afterEach(async () => {
  await watches?.close();
  await cleanUp();
});

function watching() {
  const waiting: { readonly root: string; readonly settle: () => void }[] = [];
  const told: string[] = [];
  const changed = (root: string) => {
    told.push(root);
    for (const each of waiting) if (each.root === root) each.settle();
  };
  watches = new RootWatches({ clock: systemClock, log: silentLog(), changed });
  const change = (root: string) => new Promise<void>((settle) => waiting.push({ root, settle }));
  return { watches, told, change };
}

test('a root that comes later, and what changes deep below it', async () => {
  const folder = await temporaryFolder();
  const root = join(folder, 'a', 'skills');
  const { watches, change } = watching();
  await watches.watch([root]);
  let next = change(root);
  await mkdir(join(root, 'x', 'y'), { recursive: true });
  await next;
  next = change(root);
  await writeFile(join(root, 'x', 'y', 'SKILL.md'), 'words');
  await next;
});

test('of more roots than are watched, those that were asked for last are', async () => {
  const folder = await temporaryFolder();
  const roots = Array.from({ length: 66 }, (_, at) => join(folder, `root-${at}`));
  for (const root of roots) await mkdir(root);
  const { watches, told, change } = watching();
  await watches.watch(roots.slice(0, 64));
  await watches.watch([roots[0]!]);
  await watches.watch(roots.slice(64));
  const kept = [roots[0]!, roots[65]!];
  const changes = kept.map(change);
  for (const root of [roots[1]!, roots[2]!, ...kept]) await writeFile(join(root, 'x'), '');
  await Promise.all(changes);
  expect(new Set(told)).toEqual(new Set(kept));
});
