// A server that the client starts: what it says beside the protocol is heard, and it ends, whether it wants to or not.

import { expect, test } from 'vitest';
import { deferred } from '../../../src/base/signals.ts';
import type { Dial } from '../../../src/client/dial.ts';
import { connectWith, type Heddle } from '../../../src/client/heddle.ts';
import { dialProcess } from '../../../src/client/server-process.ts';
import { SERVER } from '../../harness/hostile-server.ts';

/** Answers the handshake; `more` is what else it does. */
const program = (more: string): string => `
  process.stderr.write('pid ' + process.pid + '\\n');
  process.stdin.once('data', () => console.log(JSON.stringify({ id: 0, result: ${JSON.stringify(SERVER)} })));
  ${more}
`;

async function started(more: string): Promise<{ client: Heddle; pid: number }> {
  const dial = dialProcess(
    { command: process.execPath, args: ['-e', program(more)], env: {} },
    { leaveMs: 50, termMs: 50 },
  );
  const pid = deferred<number>();
  let said = '';
  const stderr = (text: string): void => {
    said += text;
    const match = /pid (\d+)\n/.exec(said);
    if (match) pid.resolve(Number(match[1]));
  };
  const tell: Dial = (hooks) =>
    dial({
      stderr(text) {
        stderr(text);
        hooks.stderr(text);
      },
    });
  const client = await connectWith(() => tell, { name: 'test', version: '1', drainMs: 10, reconnect: false });
  return { client, pid: await pid.promise };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test.each([
  ['leaves when its input ends', ''],
  ['leaves when it is asked with a signal', 'setInterval(() => {}, 1000);'],
  ['does not want to leave', "setInterval(() => {}, 1000); process.on('SIGTERM', () => {});"],
])('a server that %s is gone when the client has closed', async (_what, more) => {
  const { client, pid } = await started(more);
  expect(isAlive(pid)).toBe(true);
  await client.close();
  expect(isAlive(pid)).toBe(false);
});

test('what a server says beside the protocol is told', async () => {
  const { client } = await started(`
    process.stdin.on('data', (text) => String(text).includes('thread/') && process.stderr.write('disk is full'));
  `);
  const heard = new Promise((resolve) => client.on('stderr', resolve));
  const asked = client.request('thread/read', { threadId: 't' });
  expect(await heard).toBe('disk is full');
  const closing = client.close();
  await expect(asked).rejects.toMatchObject({ kind: 'unavailable' });
  await closing;
});
