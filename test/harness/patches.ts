// A scripted model that applies patches, and what it is told about them.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelServer, responses, startModelServer, stream } from './model-server.ts';
import { type RunningApp, type StartOptions, startApp } from './start-app.ts';
import type { Received, TestClient } from './test-client.ts';
import { completed, startThread, startTurn } from './turns.ts';

export interface PatchingModel {
  readonly server: RunningApp;
  readonly client: TestClient;
  readonly threadId: string;
  readonly model: ModelServer;
  /** A path in the workspace. */
  at(name: string): string;
  /** The content of a file of the workspace; undefined: there is none. */
  read(name: string): Promise<string | undefined>;
  /** Starts a turn in which the model applies a patch, whose first and last lines are added, and then ends its work. */
  begin(body: string, params?: object): Promise<string>;
  /** The same to its end; `output`: what the model was told. */
  patch(body: string, params?: object): Promise<{ readonly turn: Received; readonly output: string }>;
}

/** `thread` goes into `thread/start`; `custom`: the model writes patches as plain text, and its provider says that it can. */
export async function patchingModel(
  thread: object = {},
  { custom = false, ...options }: StartOptions & { readonly custom?: boolean } = {},
): Promise<PatchingModel> {
  const model = await startModelServer();
  const scripted = { base_url: model.baseUrl, wire_api: 'responses', custom_tools: custom };
  const config = { model_providers: { scripted }, ...options.config };
  const server = await startApp({ ...options, config, backend: model });
  const client = await server.connect();
  const settings = { cwd: server.workspace, sandbox: 'workspace-write', approvalPolicy: 'on-request' };
  const threadId = await startThread(client, { ...settings, ...thread });
  const at = (name: string) => join(server.workspace, name);
  let calls = 0;
  const begin = (body: string, params: object = {}) => {
    calls += 1;
    const input = `*** Begin Patch\n${body}\n*** End Patch`;
    const id = `call_${calls}`;
    const written = { type: 'custom_tool_call', call_id: id, name: 'apply_patch', input };
    const call = custom
      ? responses.event('response.output_item.done', { output_index: 1, item: written })
      : responses.call(id, 'apply_patch', { input });
    model.script(stream([call, responses.completed()]), stream(responses.say('done', '.'.repeat(calls))));
    return startTurn(client, threadId, 'go on', params);
  };
  return {
    ...{ server, client, threadId, model, at, begin },
    read: (name) => readFile(at(name), 'utf8').catch(() => undefined),
    async patch(body, params) {
      const turn = await completed(client, await begin(body, params));
      return { turn, output: lastOutput(model) };
    },
  };
}

/** A turn that waits for the answer about a patch. */
export async function askedPatch(rig: PatchingModel, body: string, params: object = {}) {
  const turnId = await rig.begin(body, params);
  return { turnId, question: await rig.client.asked((each) => each.turnId === turnId) };
}

/** What the model was told last about a call. */
export function lastOutput(model: ModelServer): string {
  const input = model.requests.at(-1)?.body.input as readonly { type: string; output?: string }[];
  return input.findLast(({ type }) => type.endsWith('_call_output'))?.output ?? '';
}
