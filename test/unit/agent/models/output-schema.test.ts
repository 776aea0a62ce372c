// An answer that is to fit a schema: how each wire form asks for it, and that the answer comes as a message.

import { afterEach, expect, test } from 'vitest';
import { anthropicClient } from '../../../../src/agent/models/anthropic.ts';
import { chatClient } from '../../../../src/agent/models/chat.ts';
import type { ModelEvent } from '../../../../src/agent/models/client.ts';
import { createModelHttp, type ModelHttp } from '../../../../src/agent/models/http.ts';
import { listOf, recordOf } from '../../../../src/agent/models/loose.ts';
import { responsesClient } from '../../../../src/agent/models/responses.ts';
import { anthropic, chat, responses, startModelServer, stream } from '../../../harness/model-server.ts';
import { accessTo, collect, emptyRequest } from './access.ts';

const schema = {
  type: 'object',
  properties: { title: { type: 'string' } },
  required: ['title'],
  additionalProperties: false,
};
const tool = { name: 'exec_command', description: 'runs', parameters: { type: 'object', properties: {} } };
const ANSWER = '{"title":"Tidy up"}';

const https: ModelHttp[] = [];
afterEach(async () => {
  await Promise.all(https.splice(0).map((http) => http.close()));
});

const forms = {
  responses: { client: responsesClient, frames: responses.say(ANSWER), models: ['any'] },
  chat: { client: chatClient, frames: [...chat.text(ANSWER), ...chat.end('stop')], models: ['any'] },
  anthropic: {
    client: anthropicClient,
    frames: [anthropic.start(), ...anthropic.text(0, ANSWER), ...anthropic.end('end_turn')],
    models: ['claude-sonnet-4-5'],
  },
  // Models that know no schemas are given a tool whose arguments are the answer.
  'anthropic by a tool': {
    client: anthropicClient,
    frames: [anthropic.start(), ...anthropic.call(0, 'toolu_1', 'json', ANSWER), ...anthropic.end('tool_use')],
    models: ['claude-sonnet-4-20250514', 'somebody-elses'],
  },
} as const;

const cases = Object.entries(forms).flatMap(([name, { models }]) =>
  models.map((model) => [name as keyof typeof forms, model] as const),
);

test.each(cases)('%s, %s', async (name, model) => {
  const { client, frames } = forms[name];
  const server = await startModelServer(stream(frames));
  const http = createModelHttp();
  https.push(http);
  const access = {
    ...accessTo(server),
    wire: name.startsWith('anthropic') ? ('anthropic' as const) : ('chat' as const),
  };
  const request = { ...emptyRequest, model, tools: [tool], outputSchema: schema };
  const batches = await collect(client(access, http).stream(request, new AbortController().signal));
  const events: readonly ModelEvent[] = batches.flat();
  expect(events.filter(({ type }) => type === 'messageCompleted')).toMatchObject([{ text: ANSWER }]);
  expect(events.filter(({ type }) => type === 'toolCall')).toEqual([]);
  expect(events.at(-1)).toEqual({ type: 'finished', reason: 'stop' });
  const { body } = server.requests[0]!;
  const asked = {
    responses: recordOf(body.text).format,
    chat: recordOf(body.response_format).json_schema,
    anthropic: recordOf(body.output_config).format,
    'anthropic by a tool': { schema: recordOf(listOf(body.tools).at(-1)).input_schema },
  }[name];
  expect(asked).toMatchObject({ schema });
  expect(JSON.stringify(body)).toContain('exec_command');
  await server.close();
});
