// How long the history is kept, as configured.

import type { Retention } from '../history/retention.ts';
import type { Config } from './schema.ts';

const DAY_MS = 86_400_000;
const MEBI = 2 ** 20;

export function retentionOf({ retention }: Config): Retention {
  const { archived_days, archived_mib, events_days, events_mib } = retention;
  return {
    archivedMs: archived_days && archived_days * DAY_MS,
    archivedCharacters: archived_mib && archived_mib * MEBI,
    eventsMs: events_days && events_days * DAY_MS,
    eventsCharacters: events_mib && events_mib * MEBI,
  };
}
