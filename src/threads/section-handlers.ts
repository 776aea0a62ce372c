// Sections: named groups of threads, ordered by hand. They belong to the tenant and change nothing but the list.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Sections, ThreadPlace, ThreadStore } from '../history/store.ts';
import { newId } from '../model/ids.ts';
import { PINNED, type SectionPlace, type ThreadMeta, type ThreadSection } from '../model/thread.ts';
import type { Params } from '../rpc/declare.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import { createAccess, requireStored, tenantOf } from './access.ts';
import { decodeCursor, encodeCursor } from './cursors.ts';
import { limitOf } from './pages.ts';
import type { ThreadRegistry } from './registry.ts';
import { sectionMethods, type threadSectionMove } from './section-methods.ts';

/** Characters of a name. */
const MAX_NAME = 1000;
const MAX_PAGE = 1000;
const PAGES = 'threadSection/list';

export function sectionHandlers(registry: ThreadRegistry, clock: Clock): Route[] {
  const { loaded } = createAccess(registry);
  const sectionsOf = (context: Context): Sections => registry.store(tenantOf(context)).sections;
  return implement(sectionMethods, {
    threadSectionList: async ({ cursor, limit }, context) => {
      const from = cursor ? decodeCursor(PAGES, cursor, isId).key : undefined;
      const { rows, hasMore } = await sectionsOf(context).page(limitOf(limit ?? MAX_PAGE, MAX_PAGE), from);
      const last = rows.at(-1);
      const nextCursor = hasMore && last ? encodeCursor(PAGES, { key: last.id, inclusive: false }) : null;
      return { data: [...rows], nextCursor };
    },

    threadSectionCreate: async (params, context) => {
      const appearance = appearanceOf(params.appearance) ?? null;
      const section: ThreadSection = { id: newId(), name: nameOf(params.name), appearance };
      await sectionsOf(context).put(section, context.once({ section }));
      return { section };
    },

    threadSectionUpdate: async (params, context) => {
      const { sectionId } = params;
      const name = nameOf(params.name);
      if (sectionId === PINNED.id) throw new AppError('invalid', 'the built-in pinned section cannot be renamed');
      const known = requireSection(sectionsOf(context), sectionId);
      const appearance = appearanceOf(params.appearance);
      const section: ThreadSection = { ...known, name, ...(appearance === undefined ? {} : { appearance }) };
      await sectionsOf(context).put(section, context.once({ section }));
      return { section };
    },

    threadSectionDelete: async ({ sectionId }, context) => {
      if (sectionId === PINNED.id) throw new AppError('invalid', 'the built-in pinned section cannot be deleted');
      requireSection(sectionsOf(context), sectionId);
      await sectionsOf(context).remove(sectionId, context.once({}));
      return {};
    },

    threadSectionMove: async (params, context) => {
      checkDestination(params, sectionsOf(context));
      const runtime = await loaded(context, params.threadId);
      requireStored(runtime, 'sections');
      const section = await placeAfter(params, runtime.meta, registry.store(tenantOf(context)), clock.now());
      context.afterReply(runtime.hold());
      await runtime.change([{ type: 'sectionChanged', section }], context.once({}));
      return {};
    },
  });
}

const isId = (key: unknown): key is string => typeof key === 'string';

function nameOf(given: string): string {
  const name = given.trim();
  if (name === '') throw new AppError('invalid', 'section name must not be empty');
  if (name.length > MAX_NAME) throw new AppError('invalid', `section name must have at most ${MAX_NAME} characters`);
  return name;
}

/** Undefined: not said. */
function appearanceOf(
  given: { icon?: string | null | undefined; color?: string | null | undefined } | null | undefined,
): ThreadSection['appearance'] | undefined {
  return given && { icon: given.icon ?? null, color: given.color ?? null };
}

function requireSection(sections: Sections, sectionId: string): ThreadSection {
  const known = sections.find(sectionId);
  if (!known) throw new AppError('notFound', `thread section not found: ${sectionId}`, { sectionId });
  return known;
}

function checkDestination({ sectionId, beforeThreadId }: Params<typeof threadSectionMove>, sections: Sections): void {
  if (sectionId === null) {
    if (beforeThreadId) throw new AppError('invalid', 'beforeThreadId requires a non-null sectionId');
    return;
  }
  if (!sections.find(sectionId)) throw new AppError('notFound', `section ${sectionId} does not exist`, { sectionId });
}

/** Where the thread is after the move; null: in no section. */
async function placeAfter(
  { threadId, sectionId, beforeThreadId }: Params<typeof threadSectionMove>,
  meta: ThreadMeta,
  store: ThreadStore,
  now: number,
): Promise<SectionPlace | null> {
  if (sectionId === null) return null;
  const isInside = meta.section?.id === sectionId;
  const enteredAtMs = isInside && meta.section ? meta.section.enteredAtMs : now;
  let before: ThreadPlace | undefined;
  if (beforeThreadId) {
    const neighbour = beforeThreadId === threadId ? meta : await store.meta(beforeThreadId);
    if (neighbour?.section?.id !== sectionId) {
      throw new AppError('invalid', `before thread ${beforeThreadId} is not in section ${sectionId}`, {
        threadId,
        sectionId,
      });
    }
    if (neighbour === meta) return neighbour.section;
    before = { ms: neighbour.section.position, id: beforeThreadId };
  }
  const position = store.sections.positionIn(sectionId, threadId, before);
  if (position === undefined)
    throw new AppError('conflict', 'there is no room left at this place: move another thread first', {
      threadId,
      sectionId,
    });
  return { id: sectionId, enteredAtMs, position };
}
