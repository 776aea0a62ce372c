// A command that was left running ends with the server that started it, however that ends.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually, isRunning, pidsIn } from '../unit/children/waiting.ts';
import { Program, scratch } from './executable.ts';

const deaf = (file: string): string =>
  `trap '' TERM HUP INT; echo $$ >> ${file}; setsid sh -c 'trap "" TERM HUP; echo $$ >> ${file}; while :; do sleep 1; done' & while :; do wait; done`;

test.each(['SIGKILL', 'SIGTERM'] as const)('after %s nothing of it is left', async (signal) => {
  const folder = scratch();
  const file = join(folder, 'pids');
  const server = new Program(['app-server', '--backend', 'mock', '--data-dir', scratch()]);
  const clientInfo = { name: 'test', title: null, version: '1' };
  server.write(
    { id: 1, method: 'initialize', params: { clientInfo } },
    { method: 'initialized' },
    { id: 2, method: 'thread/start', params: { cwd: folder, sandbox: 'danger-full-access', approvalPolicy: 'never' } },
  );
  const [, threadId] = await server.said('stdout', /"id":2,"result":\{"thread":\{"id":"([^"]+)"/);
  const input = [{ type: 'text', text: `leave ${deaf(file)}` }];
  server.write({ id: 3, method: 'turn/start', params: { threadId, input } });
  await server.said('stdout', /"method":"turn\/completed"/);
  const pids = await pidsIn(file, 2);
  expect(pids.map(isRunning)).toEqual([true, true]);
  server.child.kill(signal);
  await server.ended;
  await eventually('the end of all of it', () => !pids.some(isRunning));
});
