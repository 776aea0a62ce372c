// A command that was left running ends with the server that started it, however that ends.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bystandersOfFile, canBeFound, escapes, escaping, goesOn, goneAll } from '../harness/escapes.ts';
import { programsWith } from '../harness/processes.ts';
import { eventually, isRunning, pidsIn } from '../unit/children/waiting.ts';
import { Program, scratch } from './executable.ts';

const deaf = (file: string): string =>
  `trap '' TERM HUP INT; echo $$ >> ${file}; setsid sh -c 'trap "" TERM HUP; echo $$ >> ${file}; while :; do sleep 1; done' & while :; do wait; done`;

const KINDS = {
  'is deaf': { line: deaf, count: 2 },
  'has left session, environment and parent behind': {
    line: (file: string) => `${escapes(file)} sleep 600`,
    count: 2,
  },
  'goes on as another process every moment': {
    line: (file: string) => `${escaping('hop', file)} sleep 600`,
    count: 10,
  },
  'starts others without end': { line: (file: string) => `${escaping('fork', file)} sleep 600`, count: 10 },
};
const CASES = Object.entries(KINDS)
  .slice(0, canBeFound ? undefined : 1)
  .flatMap(([what, kind]) => (['SIGKILL', 'SIGTERM'] as const).map((signal) => ({ what, signal, ...kind })));

const bystanders = bystandersOfFile();

test.each(CASES)('what $what: after $signal nothing of it is left', async ({ signal, line, count }) => {
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
  const input = [{ type: 'text', text: `leave ${line(file)}` }];
  server.write({ id: 3, method: 'turn/start', params: { threadId, input } });
  await server.said('stdout', /"method":"turn\/completed"/);
  const pids = await pidsIn(file, count);
  expect(pids.some(isRunning) || programsWith(file) > 0).toBe(true);
  server.child.kill(signal);
  await server.ended;
  await eventually('the end of all of it', () => programsWith(file) === 0 && !goesOn(file));
  await goneAll(file);
  expect(bystanders()).toEqual([true, true]);
});
