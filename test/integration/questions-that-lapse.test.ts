// Questions whose subject is gone: each ends at once and exactly once, and an answer that comes later does nothing.

import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Question, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, startThread, startTurn } from '../harness/turns.ts';
import { eventually } from '../unit/children/waiting.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const HOSTILE = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));
const FREE = { approvalPolicy: 'never', sandbox: 'danger-full-access' };
const RESOLVED = 'serverRequest/resolved';

async function begun(options: Parameters<typeof startApp>[0] = {}, thread: object = {}) {
  const server = await startApp(options);
  const client = await server.connect({ experimentalApi: true });
  const settings = { cwd: server.workspace, sandbox: 'workspace-write', approvalPolicy: 'on-request', ...thread };
  const threadId = await startThread(client, settings);
  return { server, client, threadId, begin: (script: string) => startTurn(client, threadId, script) };
}

const over = (client: TestClient, { id }: Question): Promise<unknown> =>
  client.notified(RESOLVED, ({ requestId }) => requestId === id);

/** It has ended once, is listed no more, and a yes that comes too late is heard by nobody. */
async function endedOnce(client: TestClient, question: Question): Promise<void> {
  question.answer({ decision: 'accept', action: 'accept', content: {} });
  await client.settled();
  expect(client.news(RESOLVED).filter(({ requestId }) => requestId === question.id)).toHaveLength(1);
  expect((await client.request('approval/pending', {})).data).toEqual([]);
}

describe('about what would be typed into a command', () => {
  test('ends when the command has ended, and the model reads its end', async () => {
    const { server, client, threadId, begin } = await begun();
    const gate = `${server.workspace}/gate`;
    const turnId = await begin(`leave! mkfifo ${gate}; read line < ${gate}; echo over; exit 7\ntype hello`);
    (await client.asked(({ kind }) => kind === 'command')).answer({ decision: 'accept' });
    const question = await client.asked(({ kind }) => kind === 'writeStdin');
    await client.request('command/exec', {
      command: ['sh', '-c', `echo go > ${gate}`],
      sandboxPolicy: { type: 'dangerFullAccess' },
    });
    await over(client, question);
    expect(await completed(client, turnId)).toMatchObject({ status: 'completed' });
    await endedOnce(client, question);
    const command = (await itemsOf(client, threadId)).find(({ type }) => type === 'commandExecution');
    expect(command).toMatchObject({ exitCode: 7, aggregatedOutput: expect.stringContaining('over') });
    expect(client.news('item/commandExecution/terminalInteraction').map(({ stdin }) => stdin)).not.toContain('hello\n');
  });

  test('ends when the command is ended from outside', async () => {
    const { client, threadId, begin } = await begun();
    const turnId = await begin('leave! cat\ntype hello');
    (await client.asked(({ kind }) => kind === 'command')).answer({ decision: 'accept' });
    const question = await client.asked(({ kind }) => kind === 'writeStdin');
    const [{ processId }] = (await client.request('thread/backgroundTerminals/list', { threadId })).data;
    await client.request('thread/backgroundTerminals/terminate', { threadId, processId });
    await over(client, question);
    await completed(client, turnId);
    await endedOnce(client, question);
  });
});

describe('of a turn that ends', () => {
  test('by an answer that cancels it, to another question', async () => {
    const { client, begin } = await begun();
    const turnId = await begin('run! echo one\nrun! echo two');
    const [first, second] = await bothAsked(client);
    first.answer({ decision: 'cancel' });
    await over(client, second);
    expect(await completed(client, turnId)).toMatchObject({ status: 'interrupted' });
    await endedOnce(client, second);
  });

  test('by its budget of wall time', async () => {
    const clock = new ManualClock();
    const { client, begin } = await begun({ clock, config: { budgets: { turn_seconds: 60 } } });
    const turnId = await begin('run! echo one');
    const question = await client.asked();
    await eventually('the end of the turn', () => {
      clock.advance(10_000);
      return client.news('turn/completed').some(({ turn }) => turn.id === turnId);
    });
    await endedOnce(client, question);
  });
});

async function bothAsked(client: TestClient): Promise<[Question, Question]> {
  const first = await client.asked(({ command }) => String(command).includes('one'));
  const second = await client.asked(({ command }) => String(command).includes('two'));
  return [first, second];
}

describe('of an MCP server', () => {
  const hostile = { command: process.execPath, args: [HOSTILE, 'asks'] };

  async function asking(tool: string) {
    const { client, threadId, begin } = await begun({ config: { mcp_servers: { bad: hostile } } }, FREE);
    await client.notified(
      'mcpServer/startupStatus/updated',
      ({ name, status }) => name === 'bad' && status === 'ready',
    );
    await client.request('thread/settings/update', { threadId, approvalPolicy: 'on-request' });
    const turnId = await begin(`call mcp__bad__${tool} {}`);
    return { client, threadId, turnId, question: await client.asked() };
  }

  test('ends when the server is gone', async () => {
    const { client, turnId, question } = await asking('ask-and-die');
    expect(question).toMatchObject({ method: 'mcpServer/elicitation/request' });
    await over(client, question);
    await completed(client, turnId);
    await endedOnce(client, question);
  });

  test('ends at an interrupt, also when the server hears nothing', async () => {
    const { client, threadId, turnId, question } = await asking('ask-deaf');
    await client.request('turn/interrupt', { threadId, turnId });
    await over(client, question);
    expect(await completed(client, turnId)).toMatchObject({ status: 'interrupted' });
    await endedOnce(client, question);
  });

  test('ends with the thread', async () => {
    const { client, threadId, question } = await asking('ask-deaf');
    await client.request('thread/archive', { threadId });
    await over(client, question);
    await endedOnce(client, question);
  });

  test('whether to call it ends when the configuration has it no more, and the call fails', async () => {
    const { client, threadId, turnId, question } = await asking('write');
    expect(question.params).toMatchObject({ serverName: 'bad' });
    await withoutServers(client);
    await over(client, question);
    await completed(client, turnId);
    await endedOnce(client, question);
    const call = (await itemsOf(client, threadId)).find(({ type }) => type === 'mcpToolCall');
    expect(call).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('gone') } });
  });
});

async function withoutServers(client: TestClient): Promise<void> {
  const edits = [{ keyPath: 'mcp_servers', value: {}, mergeStrategy: 'replace' }];
  await client.request('config/batchWrite', { edits });
  await client.request('config/mcpServer/reload', {});
}
