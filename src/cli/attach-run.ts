// Watches what runs in a thread for `heddle attach`: from the beginning of the turn to its end, over cuts, and without a say in it.

import { isAppError, messageOf } from '../base/errors.ts';
import type { Dial } from '../client/dial.ts';
import { connectWith, type Heddle } from '../client/heddle.ts';
import type { News } from '../client/news.ts';
import type { RequestResult } from '../client/typed.ts';
import { attachView, outcomeOf, type View } from './attach-view.ts';
import { VERSION } from './environment.ts';
import { checkDoor } from './exec-door.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { connectionTo, type ServerChoice } from './running-server.ts';
import { beginningOf, newsBehind, type ReadPage } from './told-events.ts';

export interface AttachOptions extends ServerChoice {
  readonly thread: string;
  /** Goes on watching when nothing runs. */
  readonly follows: boolean;
  /** Begins behind this event instead of at the beginning of the turn that runs. */
  readonly after: number | undefined;
  readonly json: boolean;
}

type Turn = RequestResult<'thread/turns/list'>['data'][number];

/** About half a minute, in which a server is started anew. */
const RECONNECT = { maxAttempts: 10, firstMs: 100, longestMs: 5_000 } as const;

/** Leaving ends nothing: the turn, and questions that stand, go on. Rejects as the server does, such as for a thread that is not there. */
export async function attach(options: AttachOptions): Promise<ExitCode> {
  checkDoor({ ...options, backend: undefined, config: [] });
  const view = attachView(options);
  const leaving = watchForLeaving();
  let client: Heddle;
  try {
    client = await introduced(options, view);
  } catch (error) {
    if (isAppError(error, 'invalid')) throw error;
    view.note(messageOf(error), 'red');
    return EXIT.unreachable;
  }
  try {
    return await watch(client, options, view, leaving);
  } catch (error) {
    if (leaving.aborted) return leaving.reason as ExitCode;
    if (client.state !== 'closed') throw error;
    view.note(`there is no way back to the server: ${messageOf(error)}`, 'red');
    return EXIT.unreachable;
  } finally {
    view.close();
    await client.close();
  }
}

async function introduced(options: AttachOptions, view: View): Promise<Heddle> {
  const dial: Dial = async () => ({ connection: await connectionTo(options) });
  const client = await connectWith(() => dial, {
    ...{ name: 'heddle_attach', title: 'heddle attach', version: VERSION, reconnect: RECONNECT },
    // A question without an answer stands; a refusal in place of silence would decide for others.
    questionWatcher: (method, params, signal) => view.question(method, params, signal),
  });
  client.on('state', ({ state }) => {
    if (state === 'reconnecting') view.note('the connection is lost; connecting anew', 'yellow');
    if (state === 'ready') view.note('connected again');
  });
  return client;
}

async function watch(client: Heddle, options: AttachOptions, view: View, leaving: AbortSignal): Promise<ExitCode> {
  const { thread: threadId, after, follows } = options;
  const read: ReadPage = (place) => client.request('thread/read', { threadId, ...place });
  const { thread, headSeq } = await client.request('thread/read', { threadId });
  view.begins(thread);
  const last = await lastTurn(client, threadId);
  const isRunning = last?.status === 'inProgress';
  if (!isRunning && !follows) {
    if (after !== undefined) for await (const event of newsBehind(read, after)) view.news(event);
    view.note(last ? `nothing runs; the last turn ${outcomeOf(last)}` : 'nothing has run in this thread yet');
    return codeOf(last);
  }
  const from = after ?? (isRunning ? await beginningOf(read, { turnId: last.id, headSeq }) : headSeq);
  const watched = await client.thread({ resume: threadId, excludeTurns: true, afterEventSeq: from });
  const events = watched.events();
  const leave = (): void => void events.return?.();
  if (leaving.aborted) leave();
  else leaving.addEventListener('abort', leave, { once: true });
  for await (const news of events) {
    view.news(news);
    if (GONE.has(news.method)) return EXIT.failed;
    const ended = follows ? undefined : await lastBehind(client, threadId, news);
    if (ended) return codeOf(ended);
  }
  return leaving.aborted ? (leaving.reason as ExitCode) : EXIT.failed;
}

/** Behind these nothing comes. */
const GONE: ReadonlySet<string> = new Set(['thread/archived', 'thread/deleted', 'client/lost']);

/** The turn that is over, when these news say so and nothing waits to begin behind it. */
async function lastBehind(client: Heddle, threadId: string, news: News): Promise<Turn | undefined> {
  if (news.method !== 'turn/completed' && news.method !== 'client/gap') return undefined;
  // In this order: what is taken off the queue is a turn already.
  const { data: waiting } = await client.request('thread/queue/list', { threadId, limit: 1 });
  const last = await lastTurn(client, threadId);
  if (!last || last.status === 'inProgress') return undefined;
  if (news.method === 'turn/completed' && news.params.turn.id !== last.id) return undefined;
  return last.status === 'completed' && waiting.length > 0 ? undefined : last;
}

async function lastTurn(client: Heddle, threadId: string): Promise<Turn | undefined> {
  const params = { threadId, limit: 1, sortDirection: 'desc', itemsView: 'notLoaded' } as const;
  return (await client.request('thread/turns/list', params)).data[0];
}

function codeOf(turn: Turn | undefined): ExitCode {
  if (turn?.status === 'failed') return EXIT.failed;
  return turn?.status === 'interrupted' ? EXIT.interrupted : EXIT.done;
}

/** Aborts at the first signal, or when nobody reads any more, with the exit code; a second signal ends the process at once. */
function watchForLeaving(): AbortSignal {
  const leaving = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => leaving.abort(EXIT.interrupted));
  process.stdout.once('error', () => leaving.abort(EXIT.done));
  return leaving.signal;
}
