// A tool that fails after it had some effect: what it said stays, and nothing that the model says later makes it a success.

import { afterEach, expect, test } from 'vitest';
import { callingModel } from '../harness/calling-model.ts';
import { responses, stream } from '../harness/model-server.ts';
import { cleanUp } from '../harness/start-app.ts';
import { itemsOf, runTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const FREE = { sandbox: 'danger-full-access', approvalPolicy: 'never' };

test.each([
  ['with an exit code', { cmd: 'echo some; exit 3' }, 3],
  ['by a signal', { cmd: 'echo some; kill -9 $$' }, 137],
])(
  'a command that ends %s keeps its output and stays failed, whatever is said afterwards',
  async (_, call, exitCode) => {
    const { run, client, server, threadId, model } = await callingModel(FREE);
    const { turn, outputs } = await run([['exec_command', call]]);
    // The model says that it is done, and that is what it says.
    expect(turn.status).toBe('completed');
    expect(outputs[0]).toContain('some');
    expect(outputs[0]).toContain(String(exitCode));
    const failed = {
      type: 'commandExecution',
      status: 'failed',
      exitCode,
      aggregatedOutput: expect.stringContaining('some'),
    };
    expect((await itemsOf(client, threadId))[1]).toMatchObject(failed);
    await server.restart();
    const later = await server.connect();
    expect((await itemsOf(later, threadId))[1]).toMatchObject(failed);
    await model.close();
  },
);

test('a model that fails after a tool fails the turn, and both keep what they had said', async () => {
  const { client, threadId, model } = await callingModel(FREE);
  model.script(
    stream([
      responses.created(),
      ...responses.message('msg_1', ['I shall look.']),
      responses.call('call_1', 'exec_command', { cmd: 'echo some; exit 3' }),
      responses.completed(),
    ]),
    stream([
      responses.created(),
      ...responses.partial('msg_2', 'All went w'),
      responses.failed('invalid_prompt', 'no'),
    ]),
  );
  const turn = await runTurn(client, threadId, 'go');
  expect(turn).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('no') } });
  expect(await itemsOf(client, threadId)).toMatchObject([
    { type: 'userMessage' },
    { type: 'agentMessage', text: 'I shall look.' },
    { type: 'commandExecution', status: 'failed', exitCode: 3, aggregatedOutput: 'some\n' },
    { type: 'agentMessage', text: 'All went w' },
  ]);
  model.script(stream(responses.say('back')));
  expect((await runTurn(client, threadId, 'again')).status).toBe('completed');
  const asked = JSON.stringify(model.requests.at(-1)!.body.input);
  expect(asked).toContain('some');
  await model.close();
});
