// Plans of the agent: its list of steps, the mode in which it only plans, and the plan that it proposes there.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type ModelServer, responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, streamedText, text } from '../harness/turns.ts';

afterEach(cleanUp);

const said = (...deltas: string[]) =>
  stream([responses.created(), ...responses.message('m', deltas), responses.completed()]);
const planMode = (more: object = {}) => ({
  collaborationMode: { mode: 'plan', settings: { model: 'mock', reasoning_effort: 'medium', ...more } },
});

async function started() {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace });
  return { server, client, threadId };
}

const toolsIn = (model: ModelServer, at: number) =>
  (model.requests[at]!.body.tools as { name: string }[]).map(({ name }) => name);

test('steps are shown in the words of the protocol, and are no items', async () => {
  const { client, threadId } = await started();
  const turn = await runTurn(
    client,
    threadId,
    'plan done Look ; now Mend ; Test\n\nplan done Look ; done Mend ; done Test',
  );
  expect(client.news('turn/plan/updated')).toEqual([
    {
      ...{ threadId, turnId: turn.id, explanation: null },
      plan: [
        { step: 'Look', status: 'completed' },
        { step: 'Mend', status: 'inProgress' },
        { step: 'Test', status: 'pending' },
      ],
    },
    expect.objectContaining({ turnId: turn.id }),
  ]);
  expect((await itemsOf(client, threadId)).map(({ type }) => type)).toEqual(['userMessage', 'agentMessage']);
});

test('a plan of another shape goes back to the model alone', async () => {
  const bad = [{}, { plan: 'x' }, { plan: [{ step: 'x', status: 'bogus' }] }, 'no JSON'];
  const model = await startModelServer(
    stream([
      responses.created(),
      ...bad.map((each, at) => responses.call(`c${at}`, 'update_plan', each)),
      responses.completed(),
    ]),
    said('ok'),
  );
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace });
  expect(await runTurn(client, threadId, 'plan')).toMatchObject({ status: 'completed' });
  expect(client.news('turn/plan/updated')).toEqual([]);
  const outputs = (model.requests[1]!.body.input as { type: string; output?: string }[]).flatMap(({ type, output }) =>
    type === 'function_call_output' ? [output] : [],
  );
  expect(outputs).toHaveLength(bad.length);
  for (const output of outputs) expect(output).toMatch(/The arguments of update_plan (do not fit|are no JSON)/);
});

test('in plan mode a proposed plan is an item of its own, kept over a restart', async () => {
  const { server, client, threadId } = await started();
  const { turn } = await client.request('turn/start', {
    ...{ threadId, input: text('say Intro\npropose Mend it ; Test it') },
    ...planMode(),
  });
  await completed(client, turn.id);
  const items = await itemsOf(client, threadId);
  const plan = items.find(({ type }) => type === 'plan')!;
  expect(plan).toMatchObject({ text: '- Mend it\n- Test it\n' });
  expect(streamedText(client, plan.id, 'item/plan/delta')).toBe(plan.text);
  expect(items.filter(({ type }) => type === 'agentMessage').map((item) => item.text)).toEqual(['Intro']);
  await server.restart();
  const again = await server.connect({ experimentalApi: true });
  expect(await itemsOf(again, threadId)).toEqual(items);
});

test('outside plan mode the same words are words', async () => {
  const { client, threadId } = await started();
  await runTurn(client, threadId, 'propose Mend it');
  expect((await itemsOf(client, threadId)).at(-1)).toMatchObject({
    ...{ type: 'agentMessage', text: '<proposed_plan>\n- Mend it\n</proposed_plan>\n' },
  });
});

test('an interrupted plan is completed with what was said of it, and found so after a kill', async () => {
  const model = await startModelServer(
    stream([responses.created(), ...responses.partial('m', '<proposed_plan>\n- one\n- tw')], 'stall'),
  );
  const server = await startApp({ backend: model });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace });
  const { turn } = await client.request('turn/start', { threadId, input: text('plan'), ...planMode() });
  await client.notified('item/plan/delta', ({ delta }) => delta === '- tw');
  const after = await server.afterKill();
  const other = await after.connect({ experimentalApi: true });
  expect((await itemsOf(other, threadId)).at(-1)).toMatchObject({ type: 'plan', text: '- one\n- tw' });
  await client.request('turn/interrupt', { threadId, turnId: turn.id });
  expect((await itemsOf(client, threadId)).at(-1)).toMatchObject({ type: 'plan', text: '- one\n- tw' });
});

test('the model is told of the mode while it lasts, and offered what belongs to it', async () => {
  const model = await startModelServer(said('one'), said('two'), said('three'));
  const server = await startApp({ backend: model });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace });
  const start = async (more: object) => {
    const { turn } = await client.request('turn/start', { threadId, input: text('hi'), ...more });
    await completed(client, turn.id);
  };
  await start(planMode({ model: 'other' }));
  expect(client.news('thread/settings/updated').at(-1)!.threadSettings).toMatchObject({
    ...{ model: 'other', effort: 'medium' },
    collaborationMode: { mode: 'plan', settings: { model: 'other', reasoning_effort: 'medium' } },
  });
  expect(model.requests[0]!.body).toMatchObject({ model: 'other', instructions: expect.stringContaining('plan mode') });
  expect(toolsIn(model, 0)).not.toContain('update_plan');
  await client.request('thread/settings/update', {
    threadId,
    ...planMode({ developer_instructions: 'Plan in verse.' }),
  });
  await start({});
  expect(model.requests[1]!.body.instructions).toMatch(/Plan in verse\.$/);
  expect(model.requests[1]!.body.instructions).not.toContain('plan mode');
  await start({ collaborationMode: { mode: 'default', settings: { model: 'mock', reasoning_effort: null } } });
  expect(model.requests[2]!.body.instructions).not.toMatch(/verse|plan mode/);
  expect(client.news('thread/settings/updated').at(-1)!.threadSettings).toMatchObject({ effort: null });
  expect(toolsIn(model, 2)).toContain('update_plan');
});

test.each([[{ mode: 'party', settings: { model: 'x' } }], [{ mode: 'plan' }], [{ mode: 'plan', settings: {} }]])(
  '%j is no mode',
  async (collaborationMode) => {
    const { client, threadId } = await started();
    const refusal = await client.refusal('turn/start', { threadId, input: text('say x'), collaborationMode });
    expect(refusal.code).toBe(-32602);
  },
);

test('an image that is viewed beside a plan is shown with it', async () => {
  const { server, client, threadId } = await started();
  await writeFile(
    join(server.workspace, 'dot.gif'),
    Buffer.from('R0lGODdhAQABAIAAAP///////ywAAAAAAQABAAACAkQBADs=', 'base64'),
  );
  await runTurn(client, threadId, 'view dot.gif\nplan Look');
  expect(client.news('turn/plan/updated')).toHaveLength(1);
  expect((await itemsOf(client, threadId))[1]).toMatchObject({
    type: 'imageView',
    path: join(server.workspace, 'dot.gif'),
  });
});
