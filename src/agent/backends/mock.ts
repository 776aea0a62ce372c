// The mock backend: a model that follows the script in the user's words, over the same loop and tools as a real one.

import { type Clock, sleep, systemClock } from '../../base/clock.ts';
import { throwIfAborted, unlessAborted } from '../../base/signals.ts';
import type { ContextItem } from '../../model/context.ts';
import type { Backend } from '../backend.ts';
import { COMPACTION_PROMPT } from '../compaction.ts';
import { type ModelClient, ModelError, type ModelEvent, type ModelRequest } from '../models/client.ts';
import { usageOf } from '../models/usage.ts';
import { configuredModel } from './configured-model.ts';
import { lastSession } from './mock-calls.ts';
import { isCall, readScript, type Step } from './mock-script.ts';
import { createTurnRuntime, type Retries } from './runtime.ts';
import { STDIN_TOOL } from './stdin-tool.ts';

/** Words in one read where no pace is given. */
const WORDS_A_READ = 100;

/** Needs no model and no configuration; what it says is in mock-script.ts. */
export function createMockBackend(options: { readonly clock?: Clock; readonly retries?: Retries } = {}): Backend {
  const clock = options.clock ?? systemClock;
  const client = scriptedClient(clock);
  const retries = options.retries ?? { request: 0, stream: 1 };
  return createTurnRuntime({
    name: 'mock',
    clock,
    route: () => ({ client, retries, conceal: (text) => text }),
    models: async () => [
      configuredModel({
        id: 'mock',
        provider: 'mock',
        displayName: 'Mock',
        description: 'Follows a script in your words; send any text to be told how',
        isDefault: true,
        contextWindow: 100_000,
      }),
    ],
  });
}

/** Holds no state: the next step follows from what the context has since the last words of the user. */
function scriptedClient(clock: Clock): ModelClient {
  return { stream: (request, signal) => answer(clock, request, signal) };
}

async function* answer(
  clock: Clock,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], void> {
  throwIfAborted(signal);
  const { text, done } = placeIn(request.context);
  if (text === COMPACTION_PROMPT) return yield* summary(request);
  let spoken = 0;
  for (const step of nextSteps(readScript(text), done)) {
    for await (const events of perform(step, clock, signal)) yield events;
    if ('words' in step) spoken += step.words.length;
    if (isCall(step)) yield [callOf(step, request.context)];
  }
  yield [
    { type: 'usage', usage: usageFor(request, spoken) },
    { type: 'finished', reason: 'stop' },
  ];
}

function callOf(
  { name, arguments: given }: Extract<Step, { type: 'call' }>,
  context: readonly ContextItem[],
): ModelEvent {
  const whole = name === STDIN_TOOL ? { session_id: lastSession(context), ...given } : given;
  return { type: 'toolCall', callId: null, name, arguments: JSON.stringify(whole) };
}

function* summary(request: ModelRequest): Generator<readonly ModelEvent[], void> {
  const text = `A conversation of ${request.context.length - 1} entries, summarised.`;
  yield [
    { type: 'messageStarted', id: null, phase: null },
    { type: 'messageCompleted', text, phase: null },
    { type: 'usage', usage: usageFor(request, 1) },
    { type: 'finished', reason: 'stop' },
  ];
}

/** The last words of the user, and how many steps have been done since. */
function placeIn(context: readonly ContextItem[]): { readonly text: string; readonly done: number } {
  let done = 0;
  for (const item of context.toReversed()) {
    if (item.type === 'assistant' || item.type === 'reasoning' || item.type === 'toolCall') done += 1;
    if (item.type !== 'user') continue;
    const texts = item.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    return { text: texts.join('\n'), done };
  }
  return { text: '', done };
}

/** What one answer does of the script: up to and with the next calls that go side by side. */
function nextSteps(script: readonly Step[], done: number): readonly Step[] {
  if (done === script.length && isCall(script.at(-1))) return [{ type: 'say', words: ['Done.'], perSecond: null }];
  const rest = script.slice(done);
  const firstCall = rest.findIndex(isCall);
  if (firstCall < 0) return rest;
  const end = rest.findIndex((step, at) => at > firstCall && !(isCall(step) && step.followsCall));
  return end < 0 ? rest : rest.slice(0, end);
}

async function* perform(step: Step, clock: Clock, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[], void> {
  switch (step.type) {
    case 'say':
      yield [{ type: 'messageStarted', id: null, phase: null }];
      for await (const parts of paced(step, clock, signal)) yield [{ type: 'text', parts }];
      yield [{ type: 'messageCompleted', text: step.words.join(''), phase: null }];
      return;
    case 'think':
      yield [
        { type: 'reasoningStarted', id: null },
        { type: 'summaryPartAdded', index: 0 },
      ];
      for await (const parts of paced(step, clock, signal)) yield [{ type: 'summaryText', index: 0, parts }];
      yield [{ type: 'reasoningCompleted', summary: [step.words.join('')], content: [], sealed: null }];
      return;
    case 'fail':
      throw failures[step.how]();
    case 'hang':
      await unlessAborted(new Promise<never>(() => {}), signal);
      return;
    case 'call':
  }
}

const failures = {
  plain: () => new ModelError('the script asks to fail', { kind: 'reported', code: 'invalid_prompt' }),
  overloaded: () => new ModelError('the script asks to fail', { kind: 'reported', code: 'server_is_overloaded' }),
  cut: () => new ModelError('the script asks to break off', { kind: 'stream' }),
};

/** The words of a step at its pace, as reads of a wire. */
async function* paced(
  step: Extract<Step, { readonly words: readonly string[] }>,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<readonly string[], void> {
  if (step.perSecond === null) {
    for (let from = 0; from < step.words.length; from += WORDS_A_READ) {
      throwIfAborted(signal);
      yield step.words.slice(from, from + WORDS_A_READ);
      await new Promise(setImmediate);
    }
    return;
  }
  const begun = clock.elapsed();
  for (const [index, word] of step.words.entries()) {
    // Counted from the beginning, so that late timers do not add up.
    const wait = begun + (index * 1000) / step.perSecond - clock.elapsed();
    if (wait > 0) await sleep(clock, wait, signal);
    throwIfAborted(signal);
    yield [word];
  }
}

function usageFor(request: ModelRequest, spoken: number) {
  const input = request.context.length;
  return usageOf({ input, cached: 0, cacheWritten: 0, output: spoken, reasoning: 0 });
}
