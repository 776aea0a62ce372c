// One exchange of each method: a session that uses them all, and the recording of one that the method reference is made from.
// `RECORD=exchanges npx vitest run test/contracts/exchanges.test.ts` records it anew; `npm run docs` takes it over.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { notifications, requests, serverRequests } from '../../src/protocol.ts';
import type { Notification, Request } from '../../src/rpc/declare.ts';
import { ExchangeRecord, type Exchanges } from '../harness/exchange-record.ts';
import { LoginServer } from '../harness/login-server.ts';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import type { Received } from '../harness/test-client.ts';
import { completed, text } from '../harness/turns.ts';

let login: LoginServer | undefined;
afterEach(async () => {
  await cleanUp();
  login?.close();
});

const base64 = (words: string): string => Buffer.from(words).toString('base64');
const size = { rows: 24, cols: 80 };
const TOOL = { type: 'function', name: 'lookup', description: 'Finds a ticket', inputSchema: { type: 'object' } };

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DEMO = { command: process.execPath, args: [join(ROOT, 'conformance/kit/mcp-server.mjs')] };
const RECORDING = fileURLToPath(new URL('../fixtures/exchanges.json', import.meta.url));

test('a session that uses every method', async () => {
  const sandbox = async () => ({ isAvailable: false, reason: 'none', advice: 'none' }) as const;
  login = await LoginServer.start();
  const mcp_servers = { demo: DEMO, tickets: { url: login.url, enabled: false } };
  const server = await startApp({ sandbox, config: { mcp_servers } });
  const record = new ExchangeRecord(await server.dial());
  await handshake(record);
  await catalogues(record, server);
  const { threadId, turnId } = await turns(record, server);
  await reading(record, threadId, turnId);
  await ordering(record, threadId);
  await waiting(record, server);
  await leaving(record, server);
  await files(record, server);
  await programs(record, server);
  await mcpServers(record, server);
  await ending(record, threadId, turnId);
  const exchanges = record.finish({
    [server.workspace]: '/home/me/project',
    [server.dataDirectory]: '/home/me/.heddle',
    [process.env.SHELL ?? '/bin/bash']: '/bin/bash',
    [process.execPath]: 'node',
    [login.base]: 'https://tickets.example',
    [encodeURIComponent(login.base)]: encodeURIComponent('https://tickets.example'),
    [ROOT]: '/home/me/heddle/',
  });
  expectToFit(exchanges);
  if (process.env.RECORD === 'exchanges') writeFileSync(RECORDING, `${JSON.stringify(exchanges, null, 1)}\n`);
});

test('the recording is as the protocol is now', () => {
  expectToFit(JSON.parse(readFileSync(RECORDING, 'utf8')));
});

/** Each method of clients is there, and all that is there fits what is declared. */
function expectToFit(exchanges: Exchanges): void {
  const declared = Object.values<Request>(requests).map(({ method }) => method);
  expect(Object.keys(exchanges.requests)).toEqual(declared.toSorted());
  const asked = { ...exchanges.requests, ...exchanges.serverRequests };
  for (const each of [...Object.values<Request>(requests), ...Object.values<Request>(serverRequests)]) {
    const exchange = asked[each.method];
    if (!exchange) continue;
    expect([each.method, each.params().safeParse(exchange.params ?? {}).error]).toEqual([each.method, undefined]);
    expect([each.method, each.result().safeParse(exchange.result).error]).toEqual([each.method, undefined]);
  }
  const news = new Map(Object.values<Notification>(notifications).map((each) => [each.method, each]));
  for (const [method, params] of Object.entries(exchanges.notifications))
    expect([method, news.get(method)?.params().safeParse(params).success]).toEqual([method, true]);
}

async function handshake(record: ExchangeRecord): Promise<void> {
  await record.ask('initialize', {
    clientInfo: { name: 'example', title: null, version: '1.0.0' },
    capabilities: { experimentalApi: true },
  });
  record.client.notify('initialized');
  await record.ask('server/capabilities');
}

async function skills(record: ExchangeRecord, workspace: string): Promise<void> {
  const folder = join(workspace, 'more-skills');
  mkdirSync(join(folder, 'release'), { recursive: true });
  const words = '---\nname: release\ndescription: How a release is made\n---\nTag it.\n';
  writeFileSync(join(folder, 'release', 'SKILL.md'), words);
  await record.ask('skills/extraRoots/set', { extraRoots: [folder] });
  await record.client.notified('skills/changed');
  await record.ask('skills/config/write', { name: 'release', enabled: false });
  await record.ask('skills/list', { cwds: [workspace] });
}

async function catalogues(record: ExchangeRecord, { workspace }: RunningApp): Promise<void> {
  for (const method of ['account/read', 'account/rateLimits/read', 'account/bedrock/checkGovCloudRequirements'])
    await record.ask(method);
  await record.ask('getAuthStatus', { includeToken: false });
  await record.ask('account/login/start', { type: 'apiKey', apiKey: 'sk-example', modelProvider: 'openai' });
  await record.ask('account/login/cancel', { loginId: 'none' });
  await record.ask('account/logout', { modelProvider: 'openai' });
  for (const method of ['app/list', 'experimentalFeature/list', 'model/list']) await record.ask(method, { limit: 2 });
  await record.ask('hooks/list', { cwds: [workspace] });
  await skills(record, workspace);
  for (const method of ['plugin/list', 'plugin/installed', 'collaborationMode/list', 'remoteControl/status/read'])
    await record.ask(method);
  for (const method of ['configRequirements/read', 'windowsSandbox/readiness', 'modelProvider/capabilities/read'])
    await record.ask(method);
  await record.ask('experimentalFeature/enablement/set', { enablement: { example: true } });
  await record.ask('permissionProfile/list', { cwd: workspace });
  for (const method of ['environment/status', 'environment/info']) await record.ask(method, { environmentId: 'local' });
  await record.ask('config/read', {});
  await record.ask('config/value/write', { keyPath: 'model', value: 'example-large', mergeStrategy: 'replace' });
  await record.ask('config/batchWrite', {
    edits: [{ keyPath: 'model', value: 'example-small', mergeStrategy: 'replace' }],
  });
  const gateway = {
    type: 'customGateway',
    name: 'Gateway',
    baseUrl: 'http://127.0.0.1:8080/v1',
    envKey: 'GATEWAY_KEY',
  };
  const { provider } = await record.ask('modelProvider/config/write', { settings: gateway });
  await record.ask('modelProvider/default/set', { providerId: provider.id });
  await record.ask('modelProvider/list');
}

/** A thread with two turns, the first of which asks for everything that can be asked. */
async function turns(record: ExchangeRecord, { workspace }: RunningApp) {
  const { thread } = await record.ask('thread/start', {
    cwd: workspace,
    approvalPolicy: 'untrusted',
    sandbox: 'danger-full-access',
    dynamicTools: [TOOL],
  });
  const threadId: string = thread.id;
  const script =
    'think Briefly\n\nrun echo made\n\npatch add notes.txt one\n\nplan now Look ; Mend\n\ncall lookup {"id":"T-1"}';
  const { turn } = await record.ask('turn/start', { threadId, input: text(script) });
  await record.answer('item/commandExecution/requestApproval', { decision: 'accept' });
  await record.answer('item/fileChange/requestApproval', { decision: 'accept' });
  await record.answer('item/tool/call', { contentItems: [{ type: 'inputText', text: 'open' }], success: true });
  await completed(record.client, turn.id);
  return { threadId, turnId: turn.id as string };
}

async function reading(record: ExchangeRecord, threadId: string, turnId: string): Promise<void> {
  for (const method of ['thread/read', 'thread/resume']) await record.ask(method, { threadId });
  await record.ask('thread/loaded/list', {});
  await record.ask('thread/list', { limit: 1 });
  await record.ask('thread/turns/list', { threadId, limit: 1 });
  const { data } = await record.ask('thread/items/list', { threadId, limit: 1 });
  await record.ask('thread/items/read', { threadId, turnId, itemIds: [data[0].item.id] });
  await record.ask('thread/search', { searchTerm: 'notes.txt' });
  await record.ask('thread/searchOccurrences', { threadId, searchTerm: 'notes.txt' });
  await record.ask('policy/explain', { threadId, command: 'git push' });
}

async function ordering(record: ExchangeRecord, threadId: string): Promise<void> {
  await record.ask('thread/name/set', { threadId, name: 'Mending' });
  await record.ask('thread/metadata/update', { threadId, gitInfo: { branch: 'main' } });
  const { readState } = await record.client.request('thread/read', { threadId });
  const expectedRevision = readState.revision;
  await record.ask('thread/readState/update', { threadId, operation: { type: 'unread' }, expectedRevision });
  await record.ask('thread/settings/update', { threadId, effort: 'high' });
  await record.ask('thread/goal/set', { threadId, objective: 'Mend it', status: 'paused' });
  await record.ask('thread/goal/get', { threadId });
  await record.ask('thread/goal/clear', { threadId });
  const { section } = await record.ask('threadSection/create', { name: 'Today' });
  await record.ask('threadSection/update', { sectionId: section.id, name: 'Tomorrow' });
  await record.ask('threadSection/list', {});
  await record.ask('thread/section/move', { threadId, sectionId: section.id });
  await record.ask('threadSection/delete', { sectionId: section.id });
  const identity = { attachmentType: 'ticket', identityKey: 'T-1' };
  await record.ask('thread/attachment/add', { threadId, ...identity, payload: { title: 'Broken' } });
  await record.ask('thread/attachment/list', { threadId });
  await record.ask('thread/attachmentOwner/list', identity);
  await record.ask('thread/attachment/remove', { threadId, ...identity });
  await record.ask('thread/inject_items', {
    threadId,
    items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a note' }] }],
  });
}

/** A turn that runs on: what is queued, steered and interrupted meanwhile; then one that a question holds up. */
async function waiting(record: ExchangeRecord, { workspace }: RunningApp): Promise<void> {
  const { client } = record;
  const { thread } = await client.request('thread/start', { cwd: workspace, sandbox: 'danger-full-access' });
  const threadId: string = thread.id;
  const { turn } = await client.request('turn/start', { threadId, input: text('hang') });
  await record.ask('turn/settings/update', { threadId, turnId: turn.id, effort: 'low' });
  const queued = await record.ask('thread/queue/add', { threadId, input: text('say one'), clientUserMessageId: 'm-1' });
  const { id } = queued.queuedSubmission;
  await record.ask('thread/queue/update', { threadId, queuedSubmissionId: id, input: text('say two') });
  await record.ask('thread/queue/list', { threadId });
  await record.ask('thread/queue/reorder', { threadId, queuedSubmissionIds: [id] });
  await record.ask('turn/steer', { threadId, input: text('say three'), expectedTurnId: turn.id });
  await record.ask('turn/interrupt', { threadId, turnId: turn.id });
  const started = await record.ask('thread/queue/start', { threadId, queuedSubmissionId: id });
  await completed(client, started.turn.id);
  const { turn: busy } = await client.request('turn/start', { threadId, input: text('hang') });
  const more = await client.request('thread/queue/add', { threadId, input: text('x'), clientUserMessageId: 'm-2' });
  await record.ask('thread/queue/delete', {
    threadId,
    queuedSubmissionId: more.queuedSubmission.id,
  });
  await client.request('turn/interrupt', { threadId, turnId: busy.id });
  await record.ask('thread/shellCommand', { threadId, command: 'echo by hand' });
  await client.notified('item/completed', ({ item }) => item.source === 'userShell');
  await asking(record, workspace);
}

async function asking(record: ExchangeRecord, workspace: string): Promise<void> {
  const { client } = record;
  const { thread } = await client.request('thread/start', {
    cwd: workspace,
    approvalPolicy: 'untrusted',
    sandbox: 'danger-full-access',
  });
  const { turn } = await client.request('turn/start', { threadId: thread.id, input: text('run touch asked') });
  await client.message((each) => each.params?.turnId === turn.id && each.id !== undefined, 'the question');
  const { data } = await record.ask('approval/pending', { threadId: thread.id });
  const { approvalId, nonce } = data[0];
  await record.ask('approval/resolve', { approvalId, nonce, decision: 'decline' });
  await completed(client, turn.id);
}

/** A command that runs on when its turn is over. */
async function leaving(record: ExchangeRecord, { workspace }: RunningApp): Promise<void> {
  const { client } = record;
  const { thread } = await client.request('thread/start', { cwd: workspace, sandbox: 'danger-full-access' });
  const threadId: string = thread.id;
  const { turn } = await client.request('turn/start', { threadId, input: text('leave cat\n\nsay one') });
  await completed(client, turn.id);
  const { data } = await record.ask('thread/backgroundTerminals/list', { threadId });
  await record.ask('thread/backgroundTerminals/terminate', { threadId, processId: data[0].processId });
  await record.ask('thread/backgroundTerminals/clean', { threadId });
}

async function files(record: ExchangeRecord, { workspace }: RunningApp): Promise<void> {
  const path = join(workspace, 'src');
  const file = join(path, 'main.txt');
  await record.ask('fs/createDirectory', { path });
  await record.ask('fs/watch', { watchId: 'src', path });
  await record.ask('fs/writeFile', { path: file, dataBase64: base64('hello\n') });
  await record.client.notified('fs/changed');
  await record.ask('fs/unwatch', { watchId: 'src' });
  await record.ask('fs/getMetadata', { path: file });
  await record.ask('fs/readDirectory', { path });
  await record.ask('fs/readFile', { path: file });
  await record.ask('fs/copy', { sourcePath: file, destinationPath: join(path, 'copy.txt') });
  await record.ask('fs/cancelCopy', { copyId: 'none' });
  await record.ask('fs/remove', { path: join(path, 'copy.txt') });
  await record.ask('fuzzyFileSearch', { query: 'main', roots: [workspace] });
  await record.ask('fuzzyFileSearch/sessionStart', { sessionId: 'one', roots: [workspace] });
  await record.ask('fuzzyFileSearch/sessionUpdate', { sessionId: 'one', query: 'main' });
  await record.client.notified('fuzzyFileSearch/sessionCompleted');
  await record.ask('fuzzyFileSearch/sessionStop', { sessionId: 'one' });
}

async function programs(record: ExchangeRecord, { workspace: cwd }: RunningApp): Promise<void> {
  const { client } = record;
  const sandboxPolicy = { type: 'dangerFullAccess' };
  await record.ask('command/exec', { command: ['echo', 'hello'], cwd, sandboxPolicy });
  const streamed = { processId: 'one', tty: true, streamStdin: true, streamStdoutStderr: true };
  const cat = client.request('command/exec', { command: ['cat'], cwd, sandboxPolicy, ...streamed });
  await record.ask('command/exec/write', { processId: 'one', deltaBase64: base64('hello\n') });
  await client.notified('command/exec/outputDelta');
  await record.ask('command/exec/resize', { processId: 'one', size });
  await record.ask('command/exec/terminate', { processId: 'one' });
  await cat;
  const terminal = { tty: true, size, streamStdin: true, streamStdoutStderr: true };
  await record.ask('process/spawn', { command: ['cat'], cwd, processHandle: 'two', ...terminal });
  await record.ask('process/writeStdin', { processHandle: 'two', deltaBase64: base64('hello\n') });
  await client.notified('process/outputDelta');
  await record.ask('process/resizePty', { processHandle: 'two', size });
  await record.ask('process/kill', { processHandle: 'two' });
  await client.notified('process/exited');
}

async function mcpServers(record: ExchangeRecord, { workspace }: RunningApp): Promise<void> {
  const { client } = record;
  const { thread } = await client.request('thread/start', { cwd: workspace });
  const threadId: string = thread.id;
  const isReady = (each: Received) => each.threadId === threadId && each.status === 'ready';
  await client.notified('mcpServer/startupStatus/updated', isReady);
  await record.ask('mcpServerStatus/list', { threadId });
  const called = { threadId, server: 'demo' };
  await record.ask('mcpServer/tool/call', { ...called, tool: 'echo', arguments: { text: 'hello' } });
  await record.ask('mcpServer/resource/read', { ...called, uri: 'demo://hello' });
  const asking = client.request('mcpServer/tool/call', { ...called, tool: 'ask', arguments: {} });
  await record.answer('mcpServer/elicitation/request', { action: 'decline', content: null });
  await asking;
  await record.ask('config/mcpServer/reload');
  const { authorizationUrl } = await record.ask('mcpServer/oauth/login', { name: 'tickets', scopes: ['read'] });
  await fetch(authorizationUrl);
  await client.notified('mcpServer/oauthLogin/completed');
}

async function ending(record: ExchangeRecord, threadId: string, turnId: string): Promise<void> {
  const { client } = record;
  const fork: Received = await record.ask('thread/fork', { threadId });
  await record.ask('thread/revert', { threadId: fork.thread.id, beforeTurnId: turnId });
  const { thread } = await client.request('thread/start', { sandbox: 'danger-full-access' });
  for (const words of ['say one', 'say two']) {
    const { turn } = await client.request('turn/start', { threadId: thread.id, input: text(words) });
    await completed(client, turn.id);
  }
  await record.ask('thread/rollback', { threadId: thread.id, numTurns: 1 });
  await record.ask('thread/compact/start', { threadId: thread.id });
  await client.notified('turn/completed', ({ turn }) => turn.items.length === 0 && turn.id !== turnId);
  await client.settled();
  const review = await record.ask('review/start', { threadId, target: { type: 'custom', instructions: 'Look at it' } });
  await completed(client, review.turn.id);
  await record.ask('thread/unsubscribe', { threadId: thread.id });
  await record.ask('thread/archive', { threadId: thread.id });
  await record.ask('thread/unarchive', { threadId: thread.id });
  await record.ask('thread/delete', { threadId: thread.id });
}
