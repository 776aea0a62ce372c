// Requests with far more in them than anybody means: refused before they cost the others anything.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { startThread, text } from '../harness/turns.ts';

let client: TestClient;
let threadId: string;
let workspace: string;
beforeAll(async () => {
  const server = await startApp();
  ({ workspace } = server);
  client = await server.connect({ experimentalApi: true });
  threadId = await startThread(client);
});
afterAll(cleanUp);

const many = (count: number) => Array.from({ length: count }, (_, at) => `/nowhere/${at}`);
const long = 'x'.repeat(10_000);
const marks = Array.from({ length: 20_001 }, () => ({ byteRange: { start: 0, end: 1 } }));

const variables = (count: number) => Object.fromEntries(many(count).map((value, at) => [`V${at}`, value]));
const spawned = { processHandle: 'one', cwd: '/', command: ['true'] };

test.each<[string, string, () => object]>([
  ['folders of hooks', 'hooks/list', () => ({ cwds: many(257) })],
  ['folders of skills', 'skills/list', () => ({ cwds: many(257) })],
  ['workspace roots', 'thread/start', () => ({ runtimeWorkspaceRoots: many(257) })],
  [
    'writable roots',
    'thread/settings/update',
    () => ({ threadId, sandboxPolicy: { type: 'workspaceWrite', writableRoots: many(257) } }),
  ],
  ['parts of input', 'turn/start', () => ({ threadId, input: many(2_001).flatMap(text) })],
  [
    'marks in input',
    'turn/start',
    () => ({ threadId, input: [{ type: 'text', text: 'say x', text_elements: marks }] }),
  ],
  [
    'parts of queued input',
    'thread/queue/add',
    () => ({
      ...{ threadId, clientUserMessageId: 'one', input: many(2_001).flatMap(text) },
    }),
  ],
  ['letters of a title', 'thread/start', () => ({ title: long })],
  ['letters of a name', 'thread/name/set', () => ({ threadId, name: long })],
  ['letters of an effort', 'turn/start', () => ({ threadId, input: text('say x'), effort: long })],
  ['letters of a model', 'thread/settings/update', () => ({ threadId, model: long })],
  ['letters of a message id', 'turn/start', () => ({ threadId, input: text('say x'), clientUserMessageId: long })],
  ['a NUL in a folder', 'thread/start', () => ({ cwd: '/nowhere/\0x' })],
  ['variables', 'command/exec', () => ({ command: ['true'], env: variables(4_097) })],
  ['variables of a process', 'process/spawn', () => ({ ...spawned, env: variables(200_000) })],
  ['arguments', 'command/exec', () => ({ command: ['true', ...Array.from({ length: 233_017 }, () => '')] })],
  ['letters of an argument', 'process/spawn', () => ({ ...spawned, command: ['true', 'x'.repeat(131_072)] })],
  ['letters of a variable', 'command/exec', () => ({ command: ['true'], env: { V: 'x'.repeat(131_070) } })],
  ['bytes for a program', 'command/exec', () => ({ command: ['true', ...Array.from({ length: 250 }, () => long)] })],
  ['folders of a PATH', 'process/spawn', () => ({ ...spawned, env: { PATH: many(1_025).join(':') } })],
])('too many %s', async (_what, method, params) => {
  expect((await client.refusal(method, params())).code).toBe(-32602);
});

test('any word is an effort: what a provider makes of it is its own affair', async () => {
  const settings = { threadId, input: text('say x'), effort: 'as-you-like' };
  await client.request('turn/start', settings);
  await client.notified('turn/completed', () => true);
  expect((await client.request('thread/resume', { threadId })).reasoningEffort).toBe('as-you-like');
});

test.each<[string, (path: string) => object]>([
  ['fs/remove', (path) => ({ path, force: false })],
  ['fs/copy', (sourcePath) => ({ sourcePath, destinationPath: `${workspace}/copy` })],
])('%s of a path of very many slashes keeps nobody waiting', async (method, params) => {
  const path = `${workspace}${'/'.repeat(500_000)}missing`;
  await client.refusal(method, params(path));
});

test('a program gets all that the bounds allow, and a refusal names the bound', async () => {
  const bare = { sandboxPolicy: { type: 'dangerFullAccess' } };
  const env = { ...variables(4_095), V: 'x'.repeat(131_069) };
  const counted = { ...bare, command: ['sh', '-c', 'echo $#; env | grep -c ^V', 'sh', ...many(50_000)], env };
  expect(await client.request('command/exec', counted)).toMatchObject({ exitCode: 0, stdout: '50000\n4096\n' });
  const refusal = async (more: object) =>
    (await client.refusal('command/exec', { command: ['true'], ...more })).message;
  expect(await refusal({ env: variables(4_097) })).toContain('env: more than 4096');
  expect(await refusal({ command: ['true', 'x'.repeat(131_072)] })).toContain('argument 1 has more than 131072 bytes');
  expect(await refusal({ env: { V: 'x'.repeat(131_072) } })).toContain('variable V has more than 131072 bytes');
});
