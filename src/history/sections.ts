// The sections of a tenant, and the order of the threads in each.

import type { ThreadId } from '../model/ids.ts';
import { PINNED, type ThreadSection } from '../model/thread.ts';
import { spared } from './checksum.ts';
import { after, below, type KeyRange } from './keys.ts';
import { ahead, behind, between } from './positions.ts';
import type { Source } from './reader.ts';
import type { Once, Sections, ThreadPlace } from './store.ts';

/** `record`: inside a transaction, keeps a key with its reply. */
export function openSections({ rows, keys }: Source, record: (once: Once) => void): Sections {
  const neighbours = (sectionId: string, moving: ThreadId, before: ThreadPlace | undefined) =>
    [false, true].flatMap((archived) => {
      const all = below(keys.ofSection(archived, 'sectionPosition', sectionId));
      const range: KeyRange = before
        ? { ...all, to: keys.ofSection(archived, 'sectionPosition', sectionId, before.ms, before.id) }
        : all;
      return rows
        .scan({ ...range, reverse: true, limit: 2 })
        .filter(({ key }) => key.at(-1) !== moving)
        .slice(0, 1)
        .map(({ key }) => key.at(-2) as string);
    });
  return {
    find(id) {
      if (id === PINNED.id) return PINNED;
      return spared(() => {
        const text = rows.get(keys.section(id));
        return text === undefined ? undefined : (JSON.parse(text) as ThreadSection);
      });
    },
    async page(limit, afterId) {
      const builtIn = afterId === undefined ? [PINNED] : [];
      const all = below(keys.section());
      const isBehindBuiltIn = afterId === undefined || afterId === PINNED.id;
      const from = isBehindBuiltIn ? all.from : after(keys.section(afterId));
      const stored = rows
        .scan({ ...all, from, limit: limit + 1 })
        .filter((row) => !row.isDamaged)
        .map(({ text }) => JSON.parse(text) as ThreadSection);
      const found = [...builtIn, ...stored];
      return { rows: found.slice(0, limit), hasMore: found.length > limit };
    },
    put: (section, once) =>
      rows.write(() => {
        if (once) record(once);
        rows.put(keys.section(section.id), JSON.stringify(section));
      }),
    remove: (id, once) =>
      rows.write(() => {
        if (once) record(once);
        rows.remove(keys.section(id));
      }),
    positionIn(sectionId, moving, before) {
      const last = neighbours(sectionId, moving, before).sort().at(-1);
      if (before === undefined) return behind(last);
      const next = String(before.ms);
      return last === undefined ? ahead(next) : between(last, next);
    },
  };
}
