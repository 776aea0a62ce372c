// A scripted model that calls tools, and what it is told about them.

import { type ModelServer, responses, startModelServer, stream } from './model-server.ts';
import { type RunningApp, type StartOptions, startApp } from './start-app.ts';
import type { Question, Received, TestClient } from './test-client.ts';
import { completed, startThread, startTurn } from './turns.ts';

export interface CallingModel {
  readonly server: RunningApp;
  readonly client: TestClient;
  readonly threadId: string;
  readonly model: ModelServer;
  /** Starts a turn in which the model makes one call in each answer, and then ends its work. */
  begin(calls: readonly ToolUse[], params?: object, by?: TestClient): Promise<string>;
  /** The same to its end; what the model was told of each call, in order. */
  run(calls: readonly ToolUse[], params?: object): Promise<{ readonly turn: Received; readonly outputs: string[] }>;
  /** The same up to the question that the first call leads to. */
  ask(call: ToolUse, params?: object): Promise<{ readonly turnId: string; readonly question: Question }>;
  /** What the model was told of the calls of a turn, in order; to be asked when the turn is over. */
  outputs(): string[];
}

export type ToolUse = readonly [name: string, args: unknown];

/** `thread` goes into `thread/start`. */
export async function callingModel(thread: object = {}, options: StartOptions = {}): Promise<CallingModel> {
  const model = await startModelServer();
  const server = await startApp({ ...options, backend: model });
  const client = await server.connect({ experimentalApi: true });
  const settings = { cwd: server.workspace, sandbox: 'workspace-write', approvalPolicy: 'on-request' };
  const threadId = await startThread(client, { ...settings, ...thread });
  let count = 0;
  let current: string[] = [];
  const begin = (calls: readonly ToolUse[], params: object = {}, by: TestClient = client) => {
    current = [];
    for (const [name, args] of calls) {
      count += 1;
      current.push(`call_${count}`);
      model.script(stream([responses.call(`call_${count}`, name, args), responses.completed()]));
    }
    model.script(stream(responses.say('done', '.'.repeat(count))));
    return startTurn(by, threadId, 'go on', params);
  };
  const outputs = () => {
    const input = model.requests.at(-1)?.body.input as readonly { type: string; call_id?: string; output?: string }[];
    return current.flatMap((id) =>
      input.flatMap(({ type, call_id, output }) =>
        type === 'function_call_output' && call_id === id ? [output ?? ''] : [],
      ),
    );
  };
  return {
    ...{ server, client, threadId, model, begin, outputs },
    async run(calls, params) {
      const turn = await completed(client, await begin(calls, params));
      return { turn, outputs: outputs() };
    },
    async ask(call, params) {
      const turnId = await begin([call], params);
      return { turnId, question: await client.asked((each) => each.turnId === turnId) };
    },
  };
}
