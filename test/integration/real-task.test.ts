// A whole task, as people give it to a coding agent: a failing test is found, understood and repaired, with consent to every step.

import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { type ModelServer, type Step, startModelServer, stream } from '../harness/model-server.ts';
import { trySandbox } from '../harness/sandbox.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Question, Received, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';
import { type ModelCall, type ModelMove, type Shown, WIRE_FORMS, type WireName } from '../harness/wire-forms.ts';

const state = await trySandbox();
if (!state.isAvailable) console.warn(`WITHOUT A SANDBOX, there is none here: ${state.reason}; ${state.advice}`);
const sandbox = state.isAvailable ? 'workspace-write' : 'danger-full-access';

afterEach(cleanUp);

const REPOSITORY = {
  'package.json': '{ "name": "numbers", "type": "module", "scripts": { "test": "node --test test" } }\n',
  'src/sum.js': 'export const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);\n',
  'src/average.js':
    "import { sum } from './sum.js';\n\n" +
    '/** The arithmetic mean. */\n' +
    'export function average(numbers) {\n  return sum(numbers) / (numbers.length - 1);\n}\n',
  'test/average.test.js':
    "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { average } from '../src/average.js';\n\n" +
    "test('the average of three numbers', () => assert.strictEqual(average([1, 2, 6]), 3));\n",
};
const WRONG = REPOSITORY['src/average.js'];
const RIGHT = WRONG.replace('(numbers.length - 1)', 'numbers.length');

async function writeRepository(folder: string): Promise<void> {
  for (const name of ['src', 'test']) await mkdir(join(folder, name));
  for (const [name, content] of Object.entries(REPOSITORY)) await writeFile(join(folder, name), content);
}

/** What the model has been told, by the id of the call. */
type Told = ReadonlyMap<string, string>;

const toldBy = (shown: readonly Shown[]): Told =>
  new Map(shown.flatMap((each) => (each.kind === 'output' ? [[each.id, each.text] as const] : [])));

const command = (id: string, cmd: string, more: object = {}): ModelCall => ({
  id,
  name: 'exec_command',
  args: JSON.stringify({ cmd, ...more }),
});

const TEST = 'node --test test/average.test.js';
/** The search path of whoever started the server, which knows this Node. */
const SAME_PATH = { login: false };
const found = (told: Told): string =>
  /^(src\/\S+?):\d+:export function/m.exec(told.get('search') ?? '')?.[1] ?? 'not found';
const faulty = (told: Told): string => /^ +return .*length - 1.*$/m.exec(told.get('read') ?? '')?.[0] ?? 'not read';

function patchOf(told: Told): string {
  const [path, line] = [found(told), faulty(told)];
  const better = line.replace('(numbers.length - 1)', 'numbers.length');
  const lines = ['*** Begin Patch', `*** Update File: ${path}`, '@@', `-${line}`, `+${better}`, '*** End Patch'];
  return JSON.stringify({ input: `${lines.join('\n')}\n` });
}

/** What the model does, one answer after the other; where it goes on from is what it was told. */
const MOVES: readonly ((told: Told) => ModelMove)[] = [
  () => ({
    say: 'I look where the average is made, and what the tests want.',
    calls: [command('search', "grep -rn 'average' src"), command('list', 'ls test && cat test/*.js')],
  }),
  (told) => ({ say: 'Now the function itself.', calls: [command('read', `cat ${found(told)}`)] }),
  () => ({
    say: 'I run the test.',
    calls: [{ id: 'broken', name: 'exec_command', args: `{"cmd":"${TEST}","login":fal` }],
  }),
  () => ({ say: 'Once more, as it should be.', calls: [command('failing', TEST, SAME_PATH)] }),
  (told) => ({
    say: 'The divisor is off by one. I replace it.',
    calls: [command('replace', `sed -i.bak 's/(numbers.length - 1)/numbers.length/' ${found(told)}`)],
  }),
  (told) => ({ say: 'Then as a patch.', calls: [{ id: 'patch', name: 'apply_patch', args: patchOf(told) }] }),
  () => ({ say: 'Does it hold?', calls: [command('passing', TEST, SAME_PATH)] }),
  (told) => ({ say: /^. pass 1$/m.test(told.get('passing') ?? '') ? 'The test passes.' : 'The test still fails.' }),
];

const CALLS = ['search', 'list', 'read', 'broken', 'failing', 'replace', 'patch', 'passing'];

/** Small enough that frames, words of several bytes and arguments are cut anywhere. */
const CHUNK = 61;

function steps(wire: WireName, moves: readonly ((told: Told) => ModelMove)[]): Step[] {
  return moves.map((move) => (response, request) => {
    const told = toldBy(WIRE_FORMS[wire].shown(request.body));
    return stream(WIRE_FORMS[wire].frames(move(told)), 'close', CHUNK)(response, request);
  });
}

const lastShown = (wire: WireName, model: ModelServer): readonly Shown[] =>
  WIRE_FORMS[wire].shown(model.requests.at(-1)!.body);

/** The question about one call. */
const askedAbout = (client: TestClient, call: string): Promise<Question> =>
  client.asked(({ itemId }) => itemId === call);

async function accept(client: TestClient, call: string): Promise<void> {
  (await askedAbout(client, call)).answer({ decision: 'accept' });
}

async function begun(wire: WireName) {
  const model = await startModelServer(...steps(wire, MOVES));
  const config = { model_providers: { scripted: { base_url: model.baseUrl, wire_api: wire } } };
  const server = await startApp({ backend: model, config });
  await writeRepository(server.workspace);
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace, sandbox, approvalPolicy: 'untrusted' });
  const turnId = await startTurn(client, threadId, 'The test of average fails. Please repair it.');
  return { model, server, client, threadId, turnId, file: join(server.workspace, 'src/average.js') };
}

/** The person: yes to everything but the replacement by a command. Looks at the disk before each change. */
async function watchOver(client: TestClient, file: string): Promise<void> {
  for (const call of ['search', 'list', 'read', 'failing']) await accept(client, call);
  const replacement = await askedAbout(client, 'replace');
  expect(replacement.params.command).toContain('sed -i.bak');
  replacement.answer({ decision: 'decline' });
  const patch = await askedAbout(client, 'patch');
  expect(patch.method).toBe('item/fileChange/requestApproval');
  expect(patch.params.heddle.targets).toEqual([file]);
  expect(await readFile(file, 'utf8')).toBe(WRONG);
  patch.answer({ decision: 'accept' });
  await accept(client, 'passing');
}

const WIRES: readonly WireName[] = ['responses', 'chat', 'anthropic'];

describe.each(WIRES)('over the wire form %s', (wire) => {
  test('a failing test is repaired, and everything that was done is known after a restart', async () => {
    const { server, client, threadId, turnId, file, ...rest } = await begun(wire);
    await using model = rest.model;
    await watchOver(client, file);
    expect(await completed(client, turnId)).toMatchObject({ status: 'completed', error: null });

    expect(await readFile(file, 'utf8')).toBe(RIGHT);
    expect(await readdir(join(server.workspace, 'src'))).toEqual(['average.js', 'sum.js']);
    for (const name of ['package.json', 'src/sum.js', 'test/average.test.js'] as const)
      expect(await readFile(join(server.workspace, name), 'utf8')).toBe(REPOSITORY[name]);
    await promisify(execFile)(process.execPath, ['--test', 'test/average.test.js'], { cwd: server.workspace });

    const shown = lastShown(wire, model);
    expectWhole(shown);
    const told = toldBy(shown);
    expect(told.get('broken')).toContain('no JSON');
    expect(told.get('failing')).toMatch(/exited with code 1\n.*4\.5 !== 3/s);
    expect(told.get('replace')).toContain('refused');
    expect(told.get('patch')).toContain('M src/average.js');
    const items = await itemsOf(client, threadId);
    expect(items.map(outcomeOf)).toEqual(OUTCOMES);
    expect(client.questions()).toHaveLength(7);

    await server.restart();
    const later = await server.connect();
    await later.request('thread/resume', { threadId });
    expect(await itemsOf(later, threadId)).toEqual(items);
    model.script(...steps(wire, [() => ({ say: 'The divisor.' })]));
    expect((await runTurn(later, threadId, 'What was it?')).status).toBe('completed');
    expect(lastShown(wire, model)).toEqual(shown);
  });
});

/** Every call has its output, behind all calls of its answer and in their order. */
function expectWhole(shown: readonly Shown[]): void {
  const ids = (kind: Shown['kind']) => shown.flatMap((each) => (each.kind === kind ? [each.id] : []));
  expect(ids('call')).toEqual(CALLS);
  expect(ids('output')).toEqual(CALLS);
  expect(shown.slice(0, 4).map(({ kind }) => kind)).toEqual(['call', 'call', 'output', 'output']);
}

/** The words of a message, or how a step of the work ended. */
const outcomeOf = ({ type, status, exitCode, text }: Received): unknown => text ?? [type, status, exitCode ?? null];

const OUTCOMES = [
  ['userMessage', undefined, null],
  'I look where the average is made, and what the tests want.',
  ['commandExecution', 'completed', 0],
  ['commandExecution', 'completed', 0],
  'Now the function itself.',
  ['commandExecution', 'completed', 0],
  'I run the test.',
  'Once more, as it should be.',
  ['commandExecution', 'failed', 1],
  'The divisor is off by one. I replace it.',
  ['commandExecution', 'declined', null],
  'Then as a patch.',
  ['fileChange', 'completed', null],
  'Does it hold?',
  ['commandExecution', 'completed', 0],
  'The test passes.',
];
