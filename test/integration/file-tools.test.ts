// Reading and searching files with tools of their own: what the model gets, and that each is a command like any other.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { itemsOf, runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const FULL = { approvalPolicy: 'never', sandbox: 'danger-full-access' };
const said = stream([responses.created(), ...responses.message('m', ['ok']), responses.completed()]);

async function called(name: string, given: object, more: object = {}) {
  const model = await startModelServer(
    stream([responses.created(), responses.call('c1', name, given), responses.completed()]),
    said,
  );
  const provider = { base_url: model.baseUrl, wire_api: 'responses', file_tools: true };
  const server = await startApp({ backend: model, config: { model_providers: { scripted: provider } } });
  await mkdir(join(server.workspace, 'src/-odd name'), { recursive: true });
  await mkdir(join(server.workspace, '.git'));
  await writeFile(join(server.workspace, '.git/HEAD'), 'needle\n');
  await writeFile(join(server.workspace, 'src/a.ts'), 'one\ntwo needle\nthree\n');
  await writeFile(join(server.workspace, "src/-odd name/it's.txt"), 'a needle in $HOME\n');
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace, ...FULL, ...more });
  await runTurn(client, threadId, 'go');
  const input = model.requests[1]!.body.input as { readonly type: string; readonly output?: string }[];
  const output = input.find(({ type }) => type === 'function_call_output')!.output!;
  const tools = (model.requests[0]!.body.tools as { name: string }[]).map((tool) => tool.name);
  const items = (await itemsOf(client, threadId)).filter(({ type }) => type === 'commandExecution');
  return { output: output.replaceAll(server.workspace, '.'), tools, items };
}

test('a file is read from a line on, as a command that is shown as reading', async () => {
  const { output, tools, items } = await called('read_file', { path: 'src/a.ts', first_line: 2, lines: 1 });
  expect(output).toBe('two needle\n');
  expect(tools).toEqual(expect.arrayContaining(['read_file', 'list_files', 'search_files']));
  expect(items).toMatchObject([{ id: 'c1', status: 'completed', commandActions: [{ type: 'read', name: 'a.ts' }] }]);
});

test('a name of any kind is only a name', async () => {
  expect((await called('read_file', { path: "src/-odd name/it's.txt" })).output).toBe('a needle in $HOME\n');
});

test('lines are found in all files but those of git', async () => {
  const { output } = await called('search_files', { pattern: 'need(le|ed)' });
  expect(output.trim().split('\n').toSorted()).toEqual([
    "./src/-odd name/it's.txt:1:a needle in $HOME",
    './src/a.ts:2:two needle',
  ]);
});

test('a search can be held to names, and to find nothing is an answer', async () => {
  expect((await called('search_files', { pattern: 'needle', name: '*.ts' })).output).toBe('./src/a.ts:2:two needle\n');
  expect((await called('search_files', { pattern: 'nowhere' })).output).toBe('Nothing was found.');
});

test('a folder is listed as deep as is asked', async () => {
  const { output } = await called('list_files', { depth: 1 });
  expect(output.trim().split('\n')).toEqual(['.', './src']);
});

test.each([
  ['read_file', {}],
  ['read_file', { path: 'x', first_line: '1; rm -rf /' }],
  ['search_files', { pattern: '' }],
])('%s with %j goes back to the model, and nothing is run', async (name, given) => {
  const { output, items } = await called(name, given);
  expect(output).toContain(`The arguments of ${name} do not fit`);
  expect(items).toEqual([]);
});

test('what is not there is a failed command with the words of the system', async () => {
  const { output, items } = await called('read_file', { path: 'nope' });
  expect(output).toContain('No such file');
  expect(items).toMatchObject([{ status: 'failed' }]);
});

test('without the setting they are not offered', async () => {
  const model = await startModelServer(said);
  const server = await startApp({ backend: model });
  const client = await server.connect();
  await runTurn(client, await startThread(client, { cwd: server.workspace }), 'hi');
  const tools = (model.requests[0]!.body.tools as { name: string }[]).map((tool) => tool.name);
  expect(tools).not.toEqual(expect.arrayContaining(['read_file']));
});
