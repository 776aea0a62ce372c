// The three wire forms from a model's side: what it says and calls as frames of each, and what a request shows it of its calls.

import { anthropic, chat, responses } from './model-server.ts';

export interface ModelCall {
  readonly id: string;
  readonly name: string;
  /** As the model writes them, JSON or not. */
  readonly args: string;
}

/** One answer of a model. */
export interface ModelMove {
  readonly say: string;
  readonly calls?: readonly ModelCall[];
}

/** A call, or the output of one, in a context that was sent to a model. */
export type Shown =
  | { readonly kind: 'call'; readonly id: string; readonly name: string }
  | { readonly kind: 'output'; readonly id: string; readonly text: string };

export interface WireForm {
  /** A whole answer, its words and arguments in small pieces. */
  frames(move: ModelMove): readonly string[];
  /** In the order of the request. */
  shown(body: Readonly<Record<string, unknown>>): readonly Shown[];
}

const PIECE = /.{1,9}/gs;
const pieces = (text: string): readonly string[] => text.match(PIECE) ?? [];

// biome-ignore lint/suspicious/noExplicitAny: bodies of three foreign protocols.
type Entry = Readonly<Record<string, any>>;

const textOf = (content: unknown): string =>
  typeof content === 'string' ? content : (content as readonly Entry[]).map((part) => part.text).join('');

const responsesForm: WireForm = {
  frames: ({ say, calls = [] }) => [
    responses.created(),
    ...responses.message(`msg_${say.length}`, pieces(say)),
    ...calls.flatMap(({ id, name, args }, index) => {
      const item = { type: 'function_call', id: `fc_${id}`, call_id: id, name };
      const place = { item_id: item.id, output_index: index + 1 };
      return [
        responses.event('response.output_item.added', { ...place, item: { ...item, arguments: '' } }),
        ...pieces(args).map((delta) => responses.event('response.function_call_arguments.delta', { ...place, delta })),
        responses.event('response.function_call_arguments.done', { ...place, arguments: args }),
        responses.event('response.output_item.done', { ...place, item: { ...item, arguments: args } }),
      ];
    }),
    responses.completed(),
  ],
  shown: ({ input }) =>
    (input as readonly Entry[]).flatMap((entry): Shown[] => {
      if (entry.type === 'function_call') return [{ kind: 'call', id: entry.call_id, name: entry.name }];
      if (entry.type === 'function_call_output')
        return [{ kind: 'output', id: entry.call_id, text: textOf(entry.output) }];
      return [];
    }),
};

const chatForm: WireForm = {
  frames: ({ say, calls = [] }) => [
    chat.chunk({ role: 'assistant', content: '' }),
    ...chat.text(...pieces(say)),
    ...calls.flatMap(({ id, name, args }, index) => [
      chat.chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...pieces(args).map((piece) => chat.chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    ...chat.end(calls.length > 0 ? 'tool_calls' : 'stop'),
  ],
  shown: ({ messages }) =>
    (messages as readonly Entry[]).flatMap((entry): Shown[] => {
      if (entry.role === 'tool') return [{ kind: 'output', id: entry.tool_call_id, text: textOf(entry.content) }];
      const calls = (entry.tool_calls ?? []) as readonly Entry[];
      return calls.map((call) => ({ kind: 'call', id: call.id, name: call.function.name }));
    }),
};

const anthropicForm: WireForm = {
  frames: ({ say, calls = [] }) => [
    anthropic.start(),
    ...anthropic.text(0, ...pieces(say)),
    ...calls.flatMap(({ id, name, args }, index) =>
      anthropic.block(
        index + 1,
        { type: 'tool_use', id, name, input: {} },
        ['', ...pieces(args)].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      ),
    ),
    ...anthropic.end(calls.length > 0 ? 'tool_use' : 'end_turn'),
  ],
  shown: ({ messages }) =>
    (messages as readonly Entry[]).flatMap(({ content }) =>
      (typeof content === 'string' ? [] : (content as readonly Entry[])).flatMap((part): Shown[] => {
        if (part.type === 'tool_use') return [{ kind: 'call', id: part.id, name: part.name }];
        if (part.type === 'tool_result') return [{ kind: 'output', id: part.tool_use_id, text: textOf(part.content) }];
        return [];
      }),
    ),
};

export const WIRE_FORMS = { responses: responsesForm, chat: chatForm, anthropic: anthropicForm } as const;
export type WireName = keyof typeof WIRE_FORMS;
