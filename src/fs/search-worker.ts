// The thread that ranks paths for all searches of the process, so that typing in one window never holds up another.

import { parentPort } from 'node:worker_threads';
import { PathList } from './path-list.ts';
import { Ranking } from './ranking.ts';
import type { FromRanking, ToRanking } from './search-messages.ts';

/** The first results are told after so long at most, in milliseconds, and then changes not more often. */
const FIRST_MS = 25;
const PAUSE_MS = 100;

interface Search {
  readonly id: number;
  readonly roots: readonly string[];
  readonly list: PathList;
  isListed: boolean;
  turn: number;
  ranking: Ranking | undefined;
  /** There are results that were not told. */
  hasNews: boolean;
  nextTellingAt: number;
}

const port = parentPort!;
const searches = new Map<number, Search>();
let isRunning = false;

port.on('message', (message: ToRanking) => {
  take(message);
  if (isRunning) return;
  isRunning = true;
  setImmediate(run);
});

function take(message: ToRanking): void {
  if (message.type === 'open') {
    const { id, roots } = message;
    const list = new PathList(roots.length);
    searches.set(id, {
      id,
      roots,
      list,
      isListed: false,
      turn: 0,
      ranking: undefined,
      hasNews: false,
      nextTellingAt: 0,
    });
    return;
  }
  const search = searches.get(message.id);
  if (!search) return;
  if (message.type === 'paths') search.list.push(message.root, message.data);
  else if (message.type === 'listed') search.isListed = true;
  else if (message.type === 'close') searches.delete(message.id);
  else {
    search.turn = message.turn;
    search.ranking = new Ranking(search.list, message.query);
    search.hasNews = false;
    search.nextTellingAt = performance.now() + FIRST_MS;
  }
}

/** A slice for each search, then messages, and again while there is something to do. */
function run(): void {
  let isBusy = false;
  for (const search of searches.values()) if (step(search)) isBusy = true;
  isRunning = isBusy;
  if (isBusy) setImmediate(run);
}

/** Gives whether there is more to do at once. */
function step(search: Search): boolean {
  const { ranking } = search;
  if (!ranking) return false;
  if (!ranking.isDone && ranking.advance()) search.hasNews = true;
  if (ranking.isDone && search.isListed) {
    tell(search, ranking, true);
    search.ranking = undefined;
    return false;
  }
  const wait = search.nextTellingAt - performance.now();
  if (search.hasNews && wait <= 0) tell(search, ranking, false);
  if (!ranking.isDone) return true;
  if (search.hasNews) setTimeout(tellLater, wait, search, ranking);
  return false;
}

function tellLater(search: Search, ranking: Ranking): void {
  if (search.ranking === ranking && search.hasNews && search.nextTellingAt <= performance.now() + 1)
    tell(search, ranking, false);
}

function tell(search: Search, ranking: Ranking, isComplete: boolean): void {
  search.hasNews = false;
  search.nextTellingAt = performance.now() + PAUSE_MS;
  const message: FromRanking = { id: search.id, turn: search.turn, files: ranking.found(search.roots), isComplete };
  port.postMessage(message);
}
