// What the provider libraries stream, as model events: an array for what came together.

import { isAppError, messageOf } from '../../base/errors.ts';
import { deferred } from '../../base/signals.ts';
import type { Bundle } from './bundling-fetch.ts';
import { ModelError, type ModelEvent } from './client.ts';
import { EventBatch } from './event-batch.ts';
import type { LibraryPart, LibraryStream } from './library.ts';
import { usageOf } from './usage.ts';

type Finish = Extract<LibraryPart, { type: 'finish' }>;
type Metadata = Extract<LibraryPart, { type: 'reasoning-end' }>['providerMetadata'];

export interface ReasoningForm {
  /** Whether the provider's reasoning is a summary made for people, or the raw text. */
  readonly text: 'summaryText' | 'reasoningText';
  /** The blob to send back, out of the metadata of the parts of one block in order. */
  seal(metadata: readonly NonNullable<Metadata>[]): string | null;
}

/** Ends after *finished*; throws the bundle's failure, or a ModelError of kind stream, where the answer did not end well. */
export async function* libraryEvents(
  open: () => PromiseLike<{ readonly stream: LibraryStream }>,
  bundle: Bundle,
  reasoning: ReasoningForm,
  watchedTool?: string,
): AsyncGenerator<readonly ModelEvent[], void> {
  const batch = new EventBatch();
  const parts = new Parts(batch, bundle, reasoning, watchedTool);
  try {
    const { stream } = await open();
    for await (const together of gathered(stream)) {
      for (const part of together) parts.accept(part);
      const events = batch.take();
      if (events.length > 0) yield events;
    }
  } catch (error) {
    throw bundle.failure() ?? asModelError(error);
  }
  const failure = bundle.failure() ?? parts.failure();
  if (failure !== undefined) throw failure;
  yield parts.end();
}

/** Parts that come without waiting for the wire in between are one array. */
async function* gathered(stream: LibraryStream): AsyncGenerator<readonly LibraryPart[], void> {
  const reader = stream.getReader();
  let waiting: LibraryPart[] = [];
  let come = deferred();
  let isOver = false;
  const pump = (async () => {
    for (;;) {
      const step = await reader.read();
      if (step.done) return;
      waiting.push(step.value);
      come.resolve();
    }
  })().finally(() => {
    isOver = true;
    come.resolve();
  });
  pump.catch(() => {});
  try {
    while (!isOver) {
      await come.promise;
      // A tick comes when the streams in between have passed on all they have, and before the next read.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      come = deferred();
      const together = waiting;
      waiting = [];
      if (together.length > 0) yield together;
    }
    if (waiting.length > 0) yield waiting;
    await pump;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

class Parts {
  readonly #batch: EventBatch;
  readonly #bundle: Bundle;
  readonly #reasoning: ReasoningForm;
  #text = '';
  #isTextOpen = false;
  #metadata: NonNullable<Metadata>[] = [];
  #finish: Finish | undefined;
  #error: unknown;

  readonly #watchedTool: string | undefined;
  /** The call of the watched tool that is being written. */
  #watched: string | undefined;

  constructor(batch: EventBatch, bundle: Bundle, reasoning: ReasoningForm, watchedTool?: string) {
    this.#watchedTool = watchedTool;
    this.#batch = batch;
    this.#bundle = bundle;
    this.#reasoning = reasoning;
  }

  accept(part: LibraryPart): void {
    switch (part.type) {
      case 'text-start':
        this.#startText();
        return;
      case 'text-delta':
        if (!this.#isTextOpen) this.#startText();
        this.#text += part.delta;
        this.#batch.addText(...this.#bundle.piecesOf(part.delta));
        return;
      case 'text-end':
        this.#completeText();
        return;
      case 'tool-input-start':
        // Where blocks have no end on the wire the library ends a text only with the stream; a call that follows ends it here.
        this.#completeText();
        this.#watched = part.toolName === this.#watchedTool ? part.id : undefined;
        return;
      case 'tool-input-delta':
        if (part.id === this.#watched) this.#batch.addInput(part.id, part.delta);
        return;
      case 'reasoning-start':
        this.#text = '';
        this.#metadata = [];
        this.#note(part.providerMetadata);
        this.#batch.add({ type: 'reasoningStarted', id: null });
        if (this.#reasoning.text === 'summaryText') this.#batch.add({ type: 'summaryPartAdded', index: 0 });
        return;
      case 'reasoning-delta':
        this.#note(part.providerMetadata);
        if (part.delta === '') return;
        this.#text += part.delta;
        this.#batch.addNumberedText(this.#reasoning.text, 0, ...this.#bundle.piecesOf(part.delta));
        return;
      case 'reasoning-end':
        this.#note(part.providerMetadata);
        this.#completeReasoning();
        return;
      case 'tool-call':
        this.#batch.add({ type: 'toolCall', callId: part.toolCallId, name: part.toolName, arguments: part.input });
        return;
      case 'finish':
        this.#finish = part;
        return;
      case 'error':
        this.#error ??= part.error;
    }
  }

  /** Why the answer does not count, as far as the library can tell. */
  failure(): unknown {
    if (this.#error !== undefined) return asModelError(this.#error);
    if (this.#finish !== undefined && this.#finish.finishReason.unified in REASONS) return undefined;
    return new ModelError('the answer ended without a reason', { kind: 'stream' });
  }

  end(): readonly ModelEvent[] {
    if (this.#finish === undefined) return [];
    const { inputTokens, outputTokens } = this.#finish.usage;
    const usage = usageOf({
      input: inputTokens.total ?? 0,
      cached: inputTokens.cacheRead ?? 0,
      cacheWritten: inputTokens.cacheWrite ?? 0,
      output: outputTokens.total ?? 0,
      reasoning: outputTokens.reasoning ?? 0,
    });
    const reason = REASONS[this.#finish.finishReason.unified as keyof typeof REASONS];
    return [
      { type: 'usage', usage },
      { type: 'finished', reason },
    ];
  }

  #startText(): void {
    this.#text = '';
    this.#isTextOpen = true;
    this.#batch.add({ type: 'messageStarted', id: null, phase: null });
  }

  #completeText(): void {
    if (this.#isTextOpen) this.#batch.add({ type: 'messageCompleted', text: this.#text, phase: null });
    this.#isTextOpen = false;
  }

  #note(metadata: Metadata): void {
    if (metadata !== undefined) this.#metadata.push(metadata);
  }

  #completeReasoning(): void {
    const texts = this.#text === '' ? [] : [this.#text];
    const isSummary = this.#reasoning.text === 'summaryText';
    this.#batch.add({
      type: 'reasoningCompleted',
      summary: isSummary ? texts : [],
      content: isSummary ? [] : texts,
      sealed: this.#reasoning.seal(this.#metadata),
    });
  }
}

const REASONS = {
  stop: 'stop',
  'tool-calls': 'toolCalls',
  length: 'length',
  'content-filter': 'contentFilter',
} as const;

function asModelError(error: unknown): unknown {
  if (error instanceof ModelError || isAppError(error)) return error;
  return new ModelError(messageOf(error), { kind: 'stream' }, { cause: error });
}
