// Tools of clients in the hands of a model: names, arguments that do not fit, and what comes back.

import { expect, test } from 'vitest';
import type { ToolHost } from '../../../../src/agent/backend.ts';
import { clientToolsOf } from '../../../../src/agent/backends/client-tool.ts';
import { house, PIXEL, turnOf } from './turn.ts';

const TOOLS = [
  {
    type: 'function',
    name: 'lookup',
    description: 'Looks up',
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'string' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    type: 'namespace',
    name: 'shop',
    description: 'The shop',
    tools: [{ type: 'function', name: 'buy', description: 'Buys', inputSchema: true }],
  },
];

const plain = turnOf([]);
const turn = { ...plain, settings: { ...plain.settings, dynamicTools: TOOLS } };
const named = (name: string) => clientToolsOf(turn.settings).find(({ spec }) => spec.name === name)!;
const callOf = (name: string, text: string) => ({ type: 'toolCall' as const, callId: 'c', name, arguments: text });

test('a namespace becomes a part of the name, and its words a part of the description', () => {
  expect(clientToolsOf(turn.settings).map(({ spec }) => spec)).toEqual([
    { name: 'lookup', description: 'Looks up', parameters: TOOLS[0]!.inputSchema },
    { name: 'shop__buy', description: 'The shop: Buys', parameters: { type: 'object', properties: {} } },
  ]);
});

test.each([
  ['{"id":1}', /do not fit.*expected string/s],
  ['{"id":"x","more":1}', /more/],
  ['{}', /id/],
  ['', /id/],
  ['nonsense', /no JSON/],
  ['[]', /do not fit/],
])('the arguments %s reach no client', async (text, problem) => {
  const tools = house();
  const answer = await named('lookup').run(callOf('lookup', text), turn, tools);
  expect(answer).toEqual({ output: expect.stringMatching(problem), success: false });
  expect(tools.calls).toEqual([]);
});

test('arguments that fit go to the client as they are', async () => {
  const tools = house();
  const answer = await named('shop__buy').run(callOf('shop__buy', ''), turn, tools);
  expect(tools.calls).toEqual([{ item: 'c', call: { namespace: 'shop', tool: 'buy', arguments: {} } }]);
  expect(answer).toEqual({ output: 'buy was run', success: true });
});

test('images go to the model in their place; what is none is told in words', async () => {
  const content = [
    { type: 'inputText' as const, text: 'before' },
    { type: 'inputImage' as const, imageUrl: PIXEL },
    { type: 'inputImage' as const, imageUrl: 'data:image/png;base64,iVBORw0KGgo=' },
    { type: 'inputText' as const, text: 'behind' },
  ];
  const tools = { ...house(), callClientTool: async () => ({ success: false, content }) };
  const answer = await named('lookup').run(callOf('lookup', '{"id":"x"}'), turn, tools);
  const omitted = 'image content omitted because it could not be processed';
  expect(answer).toEqual({
    success: false,
    output: `before\n${omitted}\nbehind`,
    content: [
      { type: 'text', text: 'before' },
      { type: 'image', url: PIXEL },
      { type: 'text', text: omitted },
      { type: 'text', text: 'behind' },
    ],
  });
});

const twice = ($ref: string) => (/60$/.test($ref) ? { type: 'object' } : { allOf: [{ $ref }, { $ref }] });

test.each<[string, object, unknown]>([
  ['a pattern', { properties: { id: { type: 'string', pattern: '^(a+)+$' } } }, { id: `${'a'.repeat(50)}!` }],
  ['a pattern for names', { patternProperties: { '^(a+)+$': {} }, additionalProperties: false }, { aaa: 1 }],
  [
    'references that double at every level',
    {
      $defs: Object.fromEntries(
        Array.from({ length: 60 }, (_, level) => [`d${level}`, twice(`#/$defs/d${level + 1}`)]),
      ),
      $ref: '#/$defs/d0',
    },
    {},
  ],
])('no schema keeps the server busy: %s is left to the client', async (_, inputSchema, given) => {
  const tool = { type: 'function', name: 'slow', description: '', inputSchema: { type: 'object', ...inputSchema } };
  const [slow] = clientToolsOf({ ...plain.settings, dynamicTools: [tool] });
  const asked: unknown[] = [];
  const tools: ToolHost = {
    ...house(),
    callClientTool: async (_, { arguments: wanted }) => {
      asked.push(wanted);
      return { success: true, content: [] };
    },
  };
  expect(await slow!.run(callOf('slow', JSON.stringify(given)), turn, tools)).toMatchObject({ success: true });
  expect(asked).toEqual([given]);
});

test('members that are named like words of a schema are checked', async () => {
  const properties = { pattern: { type: 'string' }, anyOf: { $ref: '#/$defs/count' } };
  const inputSchema = { type: 'object', properties, $defs: { count: { type: 'integer' } } };
  const [odd] = clientToolsOf({
    ...plain.settings,
    dynamicTools: [{ type: 'function', name: 'odd', description: '', inputSchema }],
  });
  for (const given of [{ pattern: 1 }, { anyOf: 'x' }])
    expect(await odd!.run(callOf('odd', JSON.stringify(given)), turn, house())).toMatchObject({ success: false });
});
