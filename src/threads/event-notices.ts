// What events of a thread say to those who only see the list of threads.

import { isWorthReading } from '../history/tables.ts';
import type { StoredEvent } from '../model/event.ts';
import type { ThreadId } from '../model/ids.ts';
import type { Notice } from './notices.ts';
import { attachmentNews } from './render.ts';

export function noticesOf({ event }: StoredEvent, threadId: ThreadId): Notice[] {
  switch (event.type) {
    case 'turnStarted':
      return ['status'];
    case 'approvalRequested':
    case 'approvalResolved':
      return event.flags ? ['status'] : [];
    case 'turnCompleted':
      return isWorthReading(event) ? ['readState', 'status'] : ['status'];
    case 'threadNamed':
      return ['name'];
    case 'goalChanged':
      return ['goal'];
    case 'sectionChanged':
      return ['section'];
    case 'attachmentAdded':
    case 'attachmentRemoved':
      return [{ attachment: attachmentNews(threadId, event) }];
    default:
      return [];
  }
}
