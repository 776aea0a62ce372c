// `heddle approvals` and `heddle policy`: on the running server, with what they print and each of their exit codes.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connect } from '../../src/client/client.ts';
import { reach } from '../../src/client/node.ts';
import { turnCompleted } from '../../src/threads/notifications.ts';
import { threadStart } from '../../src/threads/thread-methods.ts';
import { turnStart } from '../../src/threads/turn-methods.ts';
import { protocolLines, run, scratch, serve, text } from './executable.ts';

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
