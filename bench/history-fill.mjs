// Fills a data directory through the store itself: many threads of a given size, and one long one. Run with `--import tsx`.
import { silentLog } from '../src/base/log.ts';
import { openLmdbHistory } from '../src/history/lmdb.ts';

const [directory, threadCount, kibPerThread, itemCount] = [process.argv[2], ...process.argv.slice(3).map(Number)];
/** Items of a turn of the long thread. */
const TURN_ITEMS = 50;
const WRITERS = 64;
const NOW = Date.now();
const WORDS =
  'weave loom thread shuttle warp weft heddle reed cloth pattern yarn spindle twill satin selvage draft'.split(' ');

const usage = {
  totalTokens: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningOutputTokens: 0,
};

const metaOf = (id, index) => ({
  id,
  createdAtMs: NOW - index * 1_000,
  updatedAtMs: NOW - index * 1_000,
  recencyAtMs: NOW - index * 1_000,
  archived: false,
  name: null,
  preview: '',
  title: null,
  metadata: null,
  serviceName: null,
  sessionId: id,
  forkedFromId: null,
  ephemeral: false,
  historyMode: 'paginated',
  originator: 'bench',
  threadSource: null,
  createdByVersion: '0',
  gitInfo: null,
  settings: {
    model: 'mock',
    modelProvider: index % 100 === 7 ? 'rare' : 'usual',
    cwd: index % 100 === 3 ? '/bench/rare' : `/bench/${index % 5}`,
    workspaceRoots: [],
    hasEnvironment: true,
    approvalPolicy: 'never',
    approvalsReviewer: 'user',
    sandboxPolicy: { type: 'readOnly', networkAccess: false },
    permissionProfile: null,
    effort: null,
    summary: null,
    serviceTier: null,
    personality: null,
    baseInstructions: null,
    developerInstructions: null,
    collaborationMode: null,
    instructionSources: [],
    dynamicTools: [],
  },
  turnCount: 0,
  usage,
  readState: { firstUnread: null, revision: 'r0' },
  goal: null,
  queue: [],
  section: null,
  failed: false,
});

const times = { startedAtMs: NOW, completedAtMs: NOW };
const user = (id, text) => ({
  type: 'userMessage',
  id,
  clientId: null,
  content: [{ type: 'text', text, text_elements: [] }],
  ...times,
});
const agent = (id, text) => ({
  type: 'agentMessage',
  moderation: null,
  id,
  text,
  phase: null,
  memoryCitation: null,
  delivery: null,
  questions: null,
  ...times,
});

const previewOf = (index) =>
  Array.from({ length: 9 }, (_, word) => WORDS[(index * 7 + word * 5 + (index >> 4)) % WORDS.length]).join(' ');

function turnEvents(turnId, preview, items) {
  const started = { type: 'turnStarted', turnId, rootTurnId: turnId, startedAtMs: NOW, preview };
  const completed = {
    type: 'turnCompleted',
    turnId,
    rootTurnId: turnId,
    status: 'completed',
    error: null,
    startedAtMs: NOW,
    completedAtMs: NOW,
    durationMs: 0,
    lastMessageId: items.at(-1).id,
    revision: `r-${turnId}`,
  };
  const shown = items.flatMap((item) => [
    { type: 'itemStarted', turnId, item: item.type === 'agentMessage' ? { ...item, text: '' } : item },
    { type: 'itemCompleted', turnId, item },
  ]);
  const context = { type: 'contextAdded', turnId, items: [{ type: 'note', text: preview }] };
  return [started, context, ...shown, completed];
}

async function fillThreads(store) {
  // The text of an answer is stored twice: in the log and in its row.
  const answer = 'lorem ipsum dolor sit amet '.repeat(Math.ceil((kibPerThread * 1024) / 2 / 27));
  let next = 0;
  const writer = async () => {
    for (let index = next++; index < threadCount; index = next++) {
      const id = `bench-${String(index).padStart(6, '0')}`;
      const items = [user(`${id}-q`, previewOf(index)), agent(`${id}-a`, answer)];
      const events = turnEvents(`${id}-turn`, previewOf(index), items);
      const atMs = NOW - index * 1_000;
      const head = await store.create(
        metaOf(id, index),
        events.map((event) => ({ atMs, event })),
      );
      if (index % 1_000 === 11) await store.append(id, head, [{ atMs, event: { type: 'threadArchived' } }]);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

async function fillLong(store) {
  let head = await store.create(metaOf('bench-long', 0), []);
  for (let turn = 0; turn * TURN_ITEMS < itemCount; turn += 1) {
    const items = Array.from({ length: TURN_ITEMS }, (_, index) => {
      const id = `long-${turn}-${index}`;
      return index % 2 === 0 ? user(id, `question ${id}`) : agent(id, `an answer of some length to question ${id}`);
    });
    const events = turnEvents(`long-turn-${turn}`, `turn ${turn}`, items);
    head = await store.append(
      'bench-long',
      head,
      events.map((event) => ({ atMs: NOW, event })),
    );
  }
}

const history = await openLmdbHistory({ directory, log: silentLog() });
const store = history.forTenant('local');
await fillThreads(store);
if (itemCount > 0) await fillLong(store);
await store.indexed?.();
await history.close();
