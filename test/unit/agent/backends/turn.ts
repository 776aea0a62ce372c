// What the tests of backends share: a turn, steering, a house that runs commands, a clock that never waits.

import type {
  BackendEvent,
  ClientToolCall,
  Command,
  CommandInput,
  CommandResult,
  Steering,
  ToolHost,
  TurnRequest,
} from '../../../../src/agent/backend.ts';
import type { ModelClient, ModelEvent, ModelRequest } from '../../../../src/agent/models/client.ts';
import type { FileChange } from '../../../../src/agent/patch/change.ts';
import type { Clock } from '../../../../src/base/clock.ts';
import type { ContextItem } from '../../../../src/model/context.ts';
import type { Plan } from '../../../../src/model/plan.ts';

export const userSays = (text: string): ContextItem => ({
  type: 'user',
  content: [{ type: 'text', text, text_elements: [] }],
});

export interface TestSteering extends Steering {
  steer(text: string): void;
}

export function steering(): TestSteering {
  let controller = new AbortController();
  let waiting: ContextItem[] = [];
  return {
    get signal() {
      return controller.signal;
    },
    take() {
      const taken = waiting;
      waiting = [];
      controller = new AbortController();
      return taken;
    },
    steer(text) {
      waiting.push(userSays(text));
      controller.abort();
    },
  };
}

export function turnOf(context: readonly ContextItem[], more: Partial<TurnRequest> = {}): TurnRequest {
  return {
    threadId: 'thread-1',
    turnId: 'turn-1',
    instructions: 'be good',
    context,
    steering: steering(),
    settings: {
      model: 'scripted-model',
      modelProvider: 'scripted',
      cwd: '/workspace',
      workspaceRoots: ['/workspace'],

      hasEnvironment: true,
      approvalPolicy: 'never',
      approvalsReviewer: 'user',
      sandboxPolicy: { type: 'dangerFullAccess' },
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
    ...more,
  };
}

export interface TestHouse extends ToolHost {
  readonly commands: readonly { readonly item: string; readonly command: Command }[];
  readonly inputs: readonly CommandInput[];
  readonly changes: readonly { readonly item: string; readonly changes: readonly FileChange[] }[];
  readonly calls: readonly { readonly item: string; readonly call: ClientToolCall }[];
  readonly plans: readonly Plan[];
}

/** One dot. */
export const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const ran = (output: string, exitCode = 0): CommandResult => ({
  kind: 'ran',
  exitCode,
  output,
  durationMs: 12,
  timedOut: false,
});

/** Answers every command with what `answer` says; by default its own line as output. */
export function house(
  answer: (command: Command) => CommandResult | Promise<CommandResult> = (command) => ran(command.line),
): TestHouse {
  const commands: { item: string; command: Command }[] = [];
  const inputs: CommandInput[] = [];
  const changes: { item: string; changes: readonly FileChange[] }[] = [];
  const calls: { item: string; call: ClientToolCall }[] = [];
  const plans: Plan[] = [];
  return {
    commands,
    inputs,
    changes,
    calls,
    plans,
    async runCommand(item, command) {
      commands.push({ item, command });
      return answer(command);
    },
    async writeToCommand(_call, input) {
      inputs.push(input);
      return { kind: 'running', session: input.session, output: 'more', durationMs: 12 };
    },
    async changeFiles(item, files) {
      changes.push({ item, changes: files });
      return { kind: 'changed', summary: files.map(({ path }) => `M ${path}`), durationMs: 12 };
    },
    async requestPermissions(_call, { network, read, write }) {
      return { permissions: { network, read: [...read], write: [...write] }, scope: 'turn' };
    },
    async askUser(_call, questions) {
      return { answers: Object.fromEntries(questions.map(({ id }) => [id, { answers: ['yes'] }])) };
    },
    async callMcpTool(_item, { server, tool }) {
      const text = `${tool} of ${server}`;
      return { kind: 'result', content: [{ type: 'text', text }], structuredContent: null, isError: false };
    },
    async askMcpResources(_item, { tool, server }) {
      const text = `${tool} of ${server}`;
      return { kind: 'result', content: [{ type: 'text', text }], structuredContent: null, isError: false };
    },
    async callClientTool(item, call) {
      calls.push({ item, call });
      return { success: true, content: [{ type: 'inputText', text: `${call.tool} was run` }] };
    },
    async viewImage(_item, path) {
      return path.endsWith('.png') ? { kind: 'image', url: PIXEL } : { kind: 'problem', problem: `no image: ${path}` };
    },
    async updatePlan(plan) {
      plans.push(plan);
    },
  };
}

/** Its timers run at once and are counted; their lengths are kept. */
export function hurriedClock(): Clock & { readonly waits: readonly number[] } {
  const waits: number[] = [];
  let elapsed = 0;
  return {
    waits,
    now: () => elapsed,
    elapsed: () => elapsed,
    timer(ms, work) {
      waits.push(ms);
      const handle = setImmediate(() => {
        elapsed += ms;
        work();
      });
      return () => clearImmediate(handle);
    },
  };
}

export type Answer = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<readonly ModelEvent[]>;

/** A client that gives these answers in turn, and remembers what it was asked. */
export function scriptedClient(...answers: readonly Answer[]): ModelClient & { readonly asked: ModelRequest[] } {
  const left = [...answers];
  const asked: ModelRequest[] = [];
  return {
    asked,
    stream(request, signal) {
      asked.push({ ...request, context: [...request.context] });
      const next = left.shift();
      if (!next) throw new Error('the script has no answer left');
      return next(request, signal);
    },
  };
}

export const finished: ModelEvent = { type: 'finished', reason: 'stop' };

export const message = (text: string, id: string | null = null): readonly ModelEvent[] => [
  { type: 'messageStarted', id, phase: null },
  { type: 'text', parts: [text] },
  { type: 'messageCompleted', text, phase: null },
];

export const call = (callId: string | null, name: string, args: unknown): ModelEvent => ({
  type: 'toolCall',
  callId,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});

export const answers = (...events: readonly ModelEvent[]): Answer =>
  async function* () {
    yield [...events, finished];
  };

/** All events of a run, and what it threw if it did. */
export async function outcome(
  run: AsyncIterable<readonly BackendEvent[]>,
): Promise<{ readonly events: readonly BackendEvent[]; readonly thrown: unknown }> {
  const events: BackendEvent[] = [];
  try {
    for await (const batch of run) events.push(...batch);
    return { events, thrown: undefined };
  } catch (thrown) {
    return { events, thrown };
  }
}

export const contextIn = (events: readonly BackendEvent[]): readonly ContextItem[] =>
  events.flatMap((event) => (event.type === 'contextAdded' ? event.items : []));
