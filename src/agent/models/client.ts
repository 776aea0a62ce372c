// What every wire form of a model looks like from inside: one request, a stream of what it says.

import type { ContextItem } from '../../model/context.ts';
import type { TokenUsage } from '../../model/turn.ts';
import type { WebSearchAction } from '../../model/web-search.ts';

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /**
   * Where the provider knows such tools, the model writes plain text by this grammar instead, which becomes the member `input` of the
   * arguments.
   */
  readonly custom?: { readonly syntax: 'lark'; readonly definition: string };
}

export interface ModelRequest {
  readonly model: string;
  readonly instructions: string;
  readonly context: readonly ContextItem[];
  readonly tools: readonly ToolSpec[];
  readonly effort: string | null;
  readonly summary: 'auto' | 'concise' | 'detailed' | 'none' | null;
  /** JSON Schema that the final message must fit. */
  readonly outputSchema?: unknown;
  /** How fast it is to be answered, and what that costs; null: as usual. */
  readonly serviceTier?: string | null;
  /** A tool whose input is told while the model writes it. */
  readonly watchedTool?: string;
  /** Constant within a thread, so that providers can cache. */
  readonly cacheKey: string;
}

/** Ids are the model's own where it gives any; the caller makes them unique. */
export type ModelEvent =
  | {
      readonly type: 'messageStarted';
      readonly id: string | null;
      readonly phase: 'commentary' | 'final_answer' | null;
    }
  | { readonly type: 'text'; readonly parts: readonly string[] }
  | { readonly type: 'messageCompleted'; readonly text: string; readonly phase: 'commentary' | 'final_answer' | null }
  | { readonly type: 'reasoningStarted'; readonly id: string | null }
  | { readonly type: 'summaryPartAdded'; readonly index: number }
  | { readonly type: 'summaryText' | 'reasoningText'; readonly index: number; readonly parts: readonly string[] }
  | {
      readonly type: 'reasoningCompleted';
      readonly summary: readonly string[];
      readonly content: readonly string[];
      /** The provider's blob to send back to it. */
      readonly sealed: string | null;
    }
  /** Of a call of the watched tool, as it comes. */
  | { readonly type: 'toolInput'; readonly callId: string; readonly parts: readonly string[] }
  | {
      readonly type: 'toolCall';
      readonly callId: string | null;
      readonly name: string;
      readonly arguments: string;
      /** The model wrote plain text, which stands in the arguments as `input`. */
      readonly custom?: true;
    }
  /** The provider looks something up by itself; `isDone`: it has, and this is all it tells of it. */
  | {
      readonly type: 'webSearch';
      readonly id: string | null;
      readonly action: WebSearchAction;
      readonly isDone: boolean;
    }
  | { readonly type: 'usage'; readonly usage: TokenUsage }
  /** The model has finished its answer: always the last event of a stream that ended well. */
  | { readonly type: 'finished'; readonly reason: 'stop' | 'toolCalls' | 'length' | 'contentFilter' };

/** A model's failure, told apart so that the turn loop can decide about trying again. */
export type ModelFault =
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly statusText: string;
      readonly body: string;
      readonly url: string;
    }
  | { readonly kind: 'connect'; readonly url: string }
  /** The answer broke off or went silent after it had begun. */
  | { readonly kind: 'stream' }
  /** The provider reported a failure inside the stream. */
  | { readonly kind: 'reported'; readonly code: string | null };

export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly fault: ModelFault;
  /** The provider's hint how long to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    fault: ModelFault,
    options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.fault = fault;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export interface ModelClient {
  /**
   * One request. Arrays hold what one read of the wire brought, in order. Throws a ModelError, or as *cancelled* when the signal
   * aborts, and then has let go of its socket. Does not retry.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<readonly ModelEvent[]>;
}

/** A provider as configured; `apiKey` was looked up by the caller and appears in no log or error. */
export interface ProviderAccess {
  readonly id: string;
  readonly baseUrl: string;
  readonly wire: 'responses' | 'chat' | 'anthropic';
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Silence after which a stream counts as broken, in milliseconds. */
  readonly streamIdleMs: number;
  /** It knows tools that take plain text; of use in the Responses form only. */
  readonly hasCustomTools: boolean;
}
