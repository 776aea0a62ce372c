// `heddle approvals` and `heddle policy`: on the running server, with what they print and each of their exit codes.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/client/client.ts';
import { reach } from '../../src/client/node.ts';
import { threadTurnsList } from '../../src/threads/list-methods.ts';
import { turnCompleted } from '../../src/threads/notifications.ts';
import { threadStart } from '../../src/threads/thread-methods.ts';
import { turnStart } from '../../src/threads/turn-methods.ts';
import { Program, protocolLines, run, scratch, serve, text } from './executable.ts';

const MCP_SERVER = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));

/** A server with a turn that waits for an answer which nobody gives over its connection. */
async function waiting() {
  const [data, folder] = [scratch(), scratch()];
  const { address } = await serve(['--data-dir', data, '--listen', 'unix://']);
  const never = () => new Promise<never>(() => {});
  const answers = { 'item/commandExecution/requestApproval': never };
  const client = await connect(await reach(address), { name: 'e2e', version: '1.0.0', answers });
  const notifications = client.notifications();
  const { thread } = await client.request(threadStart, { cwd: folder });
  await client.request(turnStart, { threadId: thread.id, input: text('run! touch made') });
  const heddle = (...args: string[]) => run([...args, '--data-dir', data]);
  const ended = async () => {
    for await (const { method } of notifications) if (method === turnCompleted.method) return client.close();
  };
  const listed = async (): Promise<Record<string, unknown>> => {
    for (;;) {
      const [first] = protocolLines((await heddle('approvals', 'list', '--json')).stdout);
      if (first) return first;
    }
  };
  return { data, folder, heddle, ended, listed, made: () => existsSync(join(folder, 'made')) };
}

test('the list shows what waits, and an acceptance lets it run', async () => {
  const { heddle, ended, listed, made, folder } = await waiting();
  const { approvalId } = await listed();
  const shown = await heddle('approvals', 'list');
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout).toContain(String(approvalId));
  expect(shown.stdout).toContain('touch made');
  expect(shown.stdout).toContain(folder);
  expect(shown.stdout).toContain('answers: accept, acceptForSession, always, decline, cancel');
  expect(made()).toBe(false);
  const answered = await heddle('approvals', 'answer', String(approvalId), 'accept');
  expect(answered).toMatchObject({ code: 0, stdout: expect.stringMatching(/^answered: .*touch made/) });
  await ended();
  expect(made()).toBe(true);
  expect(await heddle('approvals', 'list')).toMatchObject({ code: 0, stdout: 'nothing waits for an answer\n' });
  const late = await heddle('approvals', 'answer', String(approvalId), 'accept');
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('no question') });
});

test('what is no answer leaves the question as it is', async () => {
  const { heddle, ended, listed, made } = await waiting();
  const id = String((await listed()).approvalId);
  const wrong = await heddle('approvals', 'answer', id, 'sure');
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('accept, acceptForSession, always') });
  expect(await heddle('approvals', 'answer', id, '--say', 'a=b')).toMatchObject({ code: 2 });
  expect((await listed()).approvalId).toBe(id);
  expect(await heddle('approvals', 'answer', id, 'decline')).toMatchObject({ code: 0 });
  await ended();
  expect(made()).toBe(false);
});

describe('a form of an MCP server', () => {
  /** A server whose MCP server has asked, in a turn, and a client that does not answer. */
  async function asking() {
    const data = scratch();
    const servers = { forms: { command: process.execPath, args: [MCP_SERVER, 'asks'], required: true } };
    writeFileSync(join(data, 'config.yaml'), JSON.stringify({ backend: 'mock', mcp_servers: servers }));
    const begin = () => serve(['--data-dir', data, '--listen', 'unix://']);
    const first = await begin();
    const answers = { 'mcpServer/elicitation/request': () => new Promise<never>(() => {}) };
    const client = await connect(await reach(first.address), { name: 'e2e', version: '1.0.0', answers });
    const { thread } = await client.request(threadStart, { cwd: scratch() });
    const { turn } = await client.request(turnStart, { threadId: thread.id, input: text('call mcp__forms__ask {}') });
    const heddle = (...args: string[]) => run([...args, '--data-dir', data]);
    const listed = async (): Promise<string> => {
      for (;;) {
        const [found] = protocolLines((await heddle('approvals', 'list', '--json')).stdout);
        if (found) return String(found.approvalId);
      }
    };
    const told = async () => {
      const { stdout } = await heddle('threads', 'export', thread.id);
      const call = protocolLines(stdout).findLast(
        ({ method, params }) => method === 'item/completed' && (params as Call).item.type === 'mcpToolCall',
      );
      return (call?.params as Call | undefined)?.item;
    };
    return { data, first, begin, client, heddle, listed, told, threadId: thread.id, turnId: turn.id };
  }

  test('is listed with its fields, and answered by them; what does not fit leaves it as it is', async () => {
    const { heddle, listed, told } = await asking();
    const id = await listed();
    const shown = await heddle('approvals', 'list');
    for (const part of ['The MCP server forms asks:', 'name: text, needed', 'age: a whole number, at least 1'])
      expect(shown.stdout).toContain(part);
    expect(shown.stdout).toContain('answers: accept --say field=answer, accept --content JSON, decline, cancel');
    const answer = (...args: string[]) => heddle('approvals', 'answer', id, ...args);
    for (const [args, why] of [
      [['sure'], 'accept, decline, cancel'],
      [['accept'], 'the field name has to be filled in'],
      [['--say', 'name=Ann', '--say', 'age=marker'], 'the field age does not fit: it has to be a number'],
      [['--say', 'other=x'], 'there is no field other; there is name, age'],
      [['accept', '--content', '{"name": marker'], '`--content` is not JSON'],
      [['accept', '--content', '{"name": 7}'], 'the field name does not fit: it has to be text'],
      [['decline', '--say', 'name=Ann'], 'go with `accept`'],
    ] as const) {
      const { code, stderr } = await answer(...args);
      expect([args, code, stderr]).toEqual([args, expect.any(Number), expect.stringContaining(why)]);
      expect(code).not.toBe(0);
      expect(stderr).not.toContain('marker');
    }
    expect(await answer('--say', 'name=Ann', '--say', 'age=3')).toMatchObject({ code: 0 });
    expect((await told())?.result.content[0]?.text).toBe('{"action":"accept","content":{"name":"Ann","age":3}}');
  });

  test('is answered by JSON from standard input', async () => {
    const { data, listed, told } = await asking();
    const answering = new Program(['approvals', 'answer', await listed(), '--content', '-', '--data-dir', data]);
    answering.child.stdin.end('{"name": "Bea"}');
    expect(await answering.ended).toMatchObject({ code: 0, stderr: '' });
    expect((await told())?.result.content[0]?.text).toBe('{"action":"accept","content":{"name":"Bea"}}');
  });

  test('is over after a kill -9, with the call and the turn, and nothing waits', async () => {
    const { first, begin, heddle, listed, told, threadId, turnId } = await asking();
    const id = await listed();
    first.program.child.kill('SIGKILL');
    await first.program.ended;
    const next = await begin();
    expect(await heddle('approvals', 'list')).toMatchObject({ code: 0, stdout: 'nothing waits for an answer\n' });
    const late = await heddle('approvals', 'answer', id, '--say', 'name=Ann');
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('no question') });
    expect(await told()).toMatchObject({ status: 'failed', outcome: 'unknown' });
    const client = await connect(await reach(next.address), { name: 'e2e', version: '1.0.0' });
    const { data } = await client.request(threadTurnsList, { threadId });
    expect(data).toMatchObject([{ id: turnId, status: 'interrupted' }]);
    await client.close();
  });
});

interface Call {
  readonly item: { readonly type: string; readonly result: { readonly content: { readonly text: string }[] } };
}

test('what the rules say is explained, and nothing is run', async () => {
  const [data, folder] = [scratch(), scratch()];
  await serve(['--data-dir', data, '--listen', 'unix://']);
  const explain = (...args: string[]) => run(['policy', 'explain', ...args, '-C', folder, '--data-dir', data]);
  const asked = await explain('touch made', '--escalate', '--sandbox', 'workspace-write');
  expect(asked).toMatchObject({ code: 0, stderr: '' });
  expect(asked.stdout).toContain('People would be asked first: the command asks to leave the sandbox.');
  const refused = await explain('touch made', '--escalate', '--approval-policy', 'never', '--json');
  expect(protocolLines(refused.stdout)).toMatchObject([{ decision: 'deny', runs: 'bare' }]);
  const files = await explain('--file', 'made', '--sandbox', 'danger-full-access');
  expect(files.stdout).toContain(`${join(folder, 'made')}: workspace`);
  expect(existsSync(join(folder, 'made'))).toBe(false);
});

test('without a server, or with flags that do not fit, they say what to do', async () => {
  const data = ['--data-dir', scratch()];
  for (const command of [
    ['approvals', 'list'],
    ['approvals', 'answer', 'x', 'accept'],
    ['policy', 'explain', 'ls'],
  ])
    expect(await run([...command, ...data])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('heddle app-server daemon start'),
    });
  for (const command of [['approvals'], ['approvals', 'answer'], ['policy'], ['policy', 'explain']])
    expect(await run([...command, ...data])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('try: heddle '),
    });
  const unknown = await run(['policy', 'explain', 'ls', '--approval-policy', 'often', ...data]);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('often') });
});
