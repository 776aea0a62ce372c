// Lists, shows and puts in order what is stored, over the running server or, when none runs, from the data directory itself.

import { existsSync } from 'node:fs';
import { AppError } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import { isOwned } from '../history/owner.ts';
import { noHistory, recordsFile } from '../history/places.ts';
import type { Item } from '../model/item.ts';
import type { Thread } from '../model/thread.ts';
import type { Result } from '../rpc/declare.ts';
import { threadArchive, threadDelete, threadUnarchive } from '../threads/life-methods.ts';
import { threadItemsList, threadList } from '../threads/list-methods.ts';
import { threadRead } from '../threads/thread-methods.ts';
import { tellOnStandardError, visit } from './entrance.ts';
import { dataDirectoryOf } from './environment.ts';
import { checkDoor, openDoor } from './exec-door.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { headOf } from './file-changes.ts';
import type { ServerChoice } from './running-server.ts';
import { cut, type Paint, paintFor, plural, roomOf, visible } from './terminal.ts';
import { everyEvent, type ToldEvent } from './told-events.ts';
import { writeLines } from './written-lines.ts';

const PAGE = 50;
/** A name or first message is cut to this. */
const TITLE = 60;
/** What is looked at of it. */
const MAX_TITLE = 1000;
/** Where less of it would fit, it has a line of its own. */
const LEAST_TITLE = 20;
const MS = 1000;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const paint = (): Paint => paintFor(process.stdout, process.env);

/** Prints to standard output. */
export function listThreads(
  options: ServerChoice & {
    readonly search: string | undefined;
    readonly isArchived: boolean;
    readonly limit: number;
    readonly json: boolean;
  },
): Promise<ExitCode> {
  const none = (): ExitCode => {
    if (!options.json) say(options.isArchived ? 'no thread is archived' : 'there is no thread yet');
    return EXIT.done;
  };
  const list = async (client: Client): Promise<ExitCode> => {
    let count = 0;
    for await (const thread of everyThread(client, options)) {
      if (count === options.limit) break;
      count += 1;
      say(options.json ? JSON.stringify(thread) : lineOf(thread, paint()));
    }
    return count === 0 ? none() : EXIT.done;
  };
  return withThreads(options, list, none);
}

export function showThread(
  options: ServerChoice & { readonly thread: string; readonly json: boolean },
): Promise<ExitCode> {
  return withThreads(options, async (client) => {
    const { thread } = await client.request(threadRead, { threadId: options.thread });
    if (!options.json) say(`${lineOf(thread, paint())}\n`);
    for await (const entry of everyItem(client, options.thread)) {
      // Whoever read has seen enough.
      if (!process.stdout.writable) break;
      if (options.json) say(JSON.stringify(entry));
      else for (const line of linesOf(entry.item, paint())) say(line);
    }
    return EXIT.done;
  });
}

/** The thread, and everything that is kept of what it told, one JSON object a line. */
export function exportThread(
  options: ServerChoice & { readonly thread: string; readonly output: string | undefined },
): Promise<ExitCode> {
  const { thread: threadId, output } = options;
  return withThreads(options, async (client) => {
    const { thread } = await client.request(threadRead, { threadId });
    const events = everyEvent((place) => client.request(threadRead, { threadId, ...place }));
    await writeLines(output, jsonLines(thread, events));
    return EXIT.done;
  });
}

async function* jsonLines(thread: Thread, events: AsyncIterable<ToldEvent>): AsyncGenerator<string> {
  yield `${JSON.stringify({ thread })}\n`;
  for await (const event of events) yield `${JSON.stringify(event)}\n`;
}

export function archiveThread(options: ServerChoice & { readonly thread: string }): Promise<ExitCode> {
  return withThreads(options, async (client) => {
    await client.request(threadArchive, { threadId: options.thread });
    say(`archived: ${options.thread}`);
    return EXIT.done;
  });
}

export function unarchiveThread(options: ServerChoice & { readonly thread: string }): Promise<ExitCode> {
  return withThreads(options, async (client) => {
    await client.request(threadUnarchive, { threadId: options.thread });
    say(`back in the list: ${options.thread}`);
    return EXIT.done;
  });
}

/** Asks on a terminal; without one it has to be forced. */
export function deleteThread(
  options: ServerChoice & { readonly thread: string; readonly isDryRun: boolean; readonly isForced: boolean },
): Promise<ExitCode> {
  const { thread: threadId, isDryRun, isForced } = options;
  if (!isDryRun && !isForced && !process.stdin.isTTY)
    throw new AppError('invalid', 'nobody is there to be asked; type `--force` to delete without a question');
  return withThreads(options, async (client) => {
    const { threadIds = [threadId] } = await client.request(threadDelete, { threadId, dryRun: true });
    if (isDryRun) {
      for (const each of threadIds) say(each);
      return EXIT.done;
    }
    if (!isForced && !(await isConfirmed(`delete ${plural(threadIds.length, 'thread')} for good? [y/N] `))) {
      say('nothing was deleted');
      return EXIT.refused;
    }
    await client.request(threadDelete, { threadId });
    say(`deleted: ${threadIds.join(', ')}`);
    return EXIT.done;
  });
}

/**
 * Says on standard error why no server could be reached. Rejects as the work does. `unused`: what becomes of a directory that has
 * no history, which is not made by looking into it.
 */
async function withThreads(
  choice: ServerChoice,
  work: (client: Client) => Promise<ExitCode>,
  unused: (directory: string) => ExitCode = (directory) => {
    throw noHistory(directory);
  },
): Promise<ExitCode> {
  const options = { ...choice, backend: undefined, config: [] };
  checkDoor(options);
  if (await isUnused(choice)) return unused(dataDirectoryOf(choice.dataDir));
  const introduction = { name: 'heddle_cli', experimentalApi: true };
  return visit({ open: () => openDoor(options), introduction, tell: tellOnStandardError }, work);
}

/** No server runs on the directory, and none has. */
async function isUnused({ remote, dataDir }: ServerChoice): Promise<boolean> {
  if (remote !== undefined) return false;
  const directory = dataDirectoryOf(dataDir);
  return !existsSync(recordsFile(directory)) && !(await isOwned(directory));
}

async function* everyThread(
  client: Client,
  {
    search,
    isArchived,
    limit,
  }: { readonly search: string | undefined; readonly isArchived: boolean; readonly limit: number },
): AsyncGenerator<Thread> {
  let cursor: string | null = null;
  do {
    const page: Result<typeof threadList> = await client.request(threadList, {
      cursor,
      limit: Math.min(limit, PAGE),
      archived: isArchived,
      ...(search === undefined ? {} : { searchTerm: search }),
    });
    yield* page.data;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

type Entry = Result<typeof threadItemsList>['data'][number];

/** In their order. */
export async function* everyItem(client: Client, threadId: string): AsyncGenerator<Entry> {
  let cursor: string | null = null;
  do {
    const page: Result<typeof threadItemsList> = await client.request(threadItemsList, {
      threadId,
      cursor,
      limit: PAGE,
      sortDirection: 'asc',
    });
    yield* page.data;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/** On one line where it fits, else on two. */
function lineOf(thread: Thread, style: Paint): string {
  const { id, name, preview, updatedAt, status } = thread;
  const at = new Date(updatedAt * MS).toISOString().replace('T', ' ').slice(0, 16);
  const title = visible((name ?? preview).replace(/\s+/g, ' ').trim()).slice(0, MAX_TITLE);
  const state = status.type === 'active' ? (status.activeFlags.length > 0 ? ' waits' : ' runs') : '';
  const room = roomOf(process.stdout);
  const before = `${id}  ${at}  `.length;
  const isNarrow = room < before + LEAST_TITLE;
  const left = room - (isNarrow ? `  ${at}  `.length : before) - state.length;
  const shown = style('bold', cut(title, Math.min(left, TITLE)));
  return `${id}${isNarrow ? '\n' : ''}  ${style('dim', at)}  ${shown}${style('yellow', state)}`;
}

/** What was said and done, safe to show on a terminal. */
export function linesOf(item: Item, style: Paint): readonly string[] {
  switch (item.type) {
    case 'userMessage':
      return item.content.map((part) =>
        style('bold', `> ${part.type === 'text' ? visible(part.text) : `(${part.type})`}`),
      );
    case 'agentMessage':
    case 'plan':
      return [visible(item.text), ''];
    case 'commandExecution':
      return [style('dim', `$ ${visible(item.command)}${endOf(item)}`)];
    case 'fileChange':
      return item.changes.map((change) => style('dim', `${headOf(change)} (${item.status})`));
    case 'mcpToolCall':
      return [style('dim', `called ${visible(`${item.server}/${item.tool}`)} (${item.status})`)];
    case 'dynamicToolCall':
      return [style('dim', `called ${visible(item.tool)} (${item.status})`)];
    default:
      return [];
  }
}

const endOf = ({ status, exitCode }: Extract<Item, { type: 'commandExecution' }>): string =>
  exitCode === null ? ` (${status})` : exitCode === 0 ? '' : ` (exit code ${exitCode})`;

async function isConfirmed(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(question)).trim());
  } finally {
    lines.close();
  }
}
