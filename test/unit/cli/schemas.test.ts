// The protocol as it is written down: nothing is missing, what is experimental comes only when asked for, and every reference leads somewhere.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type SchemaForm, writeSchema } from '../../../src/cli/schema-work.ts';
import { describeProtocol } from '../../../src/cli/schemas/description.ts';
import { jsonFiles } from '../../../src/cli/schemas/json.ts';
import { openRpcDocument } from '../../../src/cli/schemas/openrpc.ts';
import { typeOf, typescriptText } from '../../../src/cli/schemas/typescript.ts';
import { clientNotifications, notifications, requests, serverRequests } from '../../../src/protocol.ts';
import { cleanUp, startApp } from '../../harness/start-app.ts';
import type { Received } from '../../harness/test-client.ts';
import { startThread, text } from '../../harness/turns.ts';

const COMPILER = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url));

const folders: string[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await cleanUp();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-schema-'));
  folders.push(folder);
  return folder;
}

async function written(form: SchemaForm, folder: string, isExperimental: boolean): Promise<void> {
  vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
  expect(await writeSchema(form, { folder, isExperimental })).toBe(0);
}

const everything = describeProtocol({ isExperimental: true });
const stable = describeProtocol({ isExperimental: false });

const methodsOf = (group: Readonly<Record<string, { readonly method: string }>>) =>
  Object.values(group)
    .map(({ method }) => method)
    .toSorted();
const named = (list: readonly { readonly method: string }[]) => list.map(({ method }) => method);

test('every declared message is written down, in order', () => {
  expect(named(everything.requests)).toEqual(methodsOf(requests));
  expect(named(everything.notifications)).toEqual(methodsOf(notifications));
  expect(named(everything.serverRequests)).toEqual(methodsOf(serverRequests));
  expect(named(everything.clientNotifications)).toEqual(methodsOf(clientNotifications));
});

test('without the experimental part neither its methods nor its members are there', () => {
  expect(named(stable.requests)).toContain('turn/start');
  expect(named(stable.requests)).not.toContain('approval/resolve');
  expect(named(stable.notifications)).not.toContain('process/exited');
  const members = (name: string, from = stable) => Object.keys(from.definitions.get(name)?.properties ?? {});
  expect(members('TurnStartParams')).toContain('input');
  expect(members('TurnStartParams')).not.toContain('collaborationMode');
  expect(members('TurnStartParams', everything)).toContain('collaborationMode');
  expect(stable.definitions.has('CollaborationModeMask')).toBe(false);
});

test('what changes something takes a key that makes it once-only', () => {
  expect(everything.definitions.get('ThreadDeleteParams')?.properties).toHaveProperty('idempotencyKey');
  expect(everything.definitions.get('ThreadReadParams')?.properties).not.toHaveProperty('idempotencyKey');
  for (const choice of everything.definitions.get('AccountLoginStartParams')?.oneOf ?? [])
    expect(choice.properties).toHaveProperty('idempotencyKey');
});

test.each([
  ['json', [...jsonFiles(everything).values(), ...jsonFiles(stable).values()]],
  ['openrpc', [openRpcDocument(everything, '1'), openRpcDocument(stable, '1')]],
])('every reference of %s leads to something in the same document', (_form, documents) => {
  for (const document of documents) {
    const places = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, place]) =>
      place!.split('/'),
    );
    expect(places.filter((place) => at(document, place) === undefined)).toEqual([]);
    expect(places.length).toBeGreaterThan(0);
  }
});

function at(value: unknown, place: readonly string[]): unknown {
  return place.reduce<unknown>((each, step) => (each as Record<string, unknown> | undefined)?.[step], value);
}

test('OpenRPC names members of a choice once, and requires only what every choice requires', () => {
  const login = openRpcDocument(everything, '1').methods.find(({ name }) => name === 'account/login/start')!;
  expect(login.params.map(({ name, required }) => [name, required])).toEqual([
    ['type', true],
    ['apiKey', false],
    ['modelProvider', false],
    ['idempotencyKey', false],
  ]);
});

test('what is written is whole, alone in its place, and the same each time', async () => {
  const place = join(scratch(), 'new', 'folder');
  for (const form of ['json', 'ts', 'openrpc'] as const) await written(form, place, true);
  const read = () => readdirSync(place).map((file) => [file, readFileSync(join(place, file), 'utf8')]);
  const before = read();
  expect(before.map(([file]) => file).toSorted()).toEqual([
    'ClientNotification.json',
    'ClientRequest.json',
    'ServerNotification.json',
    'ServerRequest.json',
    'openrpc.json',
    'protocol.json',
    'protocol.ts',
  ]);
  for (const form of ['json', 'ts', 'openrpc'] as const) await written(form, place, true);
  expect(read()).toEqual(before);
});

test('a folder that cannot be made is said so', async () => {
  const file = join(scratch(), 'file');
  writeFileSync(file, '');
  await expect(writeSchema('ts', { folder: join(file, 'below'), isExperimental: false })).rejects.toMatchObject({
    kind: 'unavailable',
  });
});

test('a whole turn with an approval fits the schema, message by message', async () => {
  const files = jsonFiles(everything) as ReadonlyMap<string, z.core.JSONSchema.JSONSchema>;
  const [told, asked] = ['ServerNotification.json', 'ServerRequest.json'].map((name) =>
    z.fromJSONSchema(files.get(name)!),
  );
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { approvalPolicy: 'untrusted' });
  await client.request('turn/start', { threadId, input: text('run touch made; say done') });
  (await client.asked()).answer({ decision: 'accept' });
  await client.notified('turn/completed');
  const fits = ({ id, ...message }: Received) => (id === undefined ? told : asked)!.safeParse({ id, ...message });
  const messages = client.transcript.filter(({ method }) => method !== undefined);
  expect(messages.length).toBeGreaterThan(8);
  expect(messages.filter((each) => !fits(each).success).map(({ method }) => method)).toEqual([]);
  expect(told!.safeParse({ method: 'turn/started', params: { threadId } }).success).toBe(false);
  expect(told!.safeParse({ method: 'turn/never', params: {} }).success).toBe(false);
});

test.each([
  [{}, 'unknown'],
  [{ not: {} }, 'never'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ type: 'array', items: { type: ['string', 'null'] } }, 'Array<string | null>'],
  [{ type: 'array', items: [{ type: 'string' }, { type: 'integer' }] }, '[string, number]'],
  [{ type: 'string', const: "it's" }, String.raw`'it\'s'`],
  [{ type: 'object', additionalProperties: { $ref: '#/definitions/Turn' } }, '{ [member: string]: Turn }'],
  [{ type: 'object', properties: { 'a-b': { type: 'null' } }, required: ['a-b'] }, "{\n  'a-b': null;\n}"],
] as const)('the type of %j', (schema, type) => {
  expect(typeOf(schema)).toBe(type);
});

const CONSUMER = `
import type { ClientRequest, ClientRequests, ServerNotification } from './protocol.ts';
export const start: ClientRequest = { id: 1, method: 'turn/start', params: { threadId: 't', input: [{ type: 'text', text: 'x' }] } };
// @ts-expect-error a member is missing
export const wrong: ClientRequest = { id: 1, method: 'turn/start', params: { threadId: 't' } };
// @ts-expect-error there is no such method
export type Missing = ClientRequests['turn/never'];
export function shown(message: ServerNotification): string {
  if (message.method === 'item/agentMessage/delta') return message.params.delta;
  if (message.method !== 'item/completed') return '';
  const { item } = message.params;
  return item.type === 'commandExecution' ? item.command : item.id;
}
`;

test('the TypeScript types compile, and tell right from wrong', () => {
  const folder = scratch();
  writeFileSync(join(folder, 'protocol.ts'), typescriptText(everything));
  writeFileSync(join(folder, 'consumer.ts'), CONSUMER);
  if (!existsSync(COMPILER)) throw new Error('the compiler is not installed');
  const options = ['--noEmit', '--strict', '--allowImportingTsExtensions', '--ignoreConfig', '--module', 'esnext'];
  const problems = () =>
    execFileSync(COMPILER, [...options, '--moduleResolution', 'bundler', 'consumer.ts'], { cwd: folder });
  expect(problems).not.toThrow();
});
