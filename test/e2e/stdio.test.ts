// The executable on standard streams: from its start to each way in which it ends, and nothing but protocol on its output.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isRunning } from '../unit/children/waiting.ts';
import { INITIALIZE, Program, protocolLines, run, scratch, text } from './executable.ts';

const SERVER = ['app-server', '--backend', 'mock'];

async function startTurn(program: Program, prompt: string, cwd: string, settings: object = {}): Promise<string> {
  const params = { cwd, ...settings };
  program.write(INITIALIZE, { method: 'initialized' }, { id: 1, method: 'thread/start', params });
  await program.said('stdout', /"id":1,"result"/);
  const answer = protocolLines(program.stdout.slice(0, program.stdout.lastIndexOf('\n') + 1)).find(
    ({ id }) => id === 1,
  );
  const { thread } = answer!.result as { thread: { id: string } };
  program.write({ id: 2, method: 'turn/start', params: { threadId: thread.id, input: text(prompt) } });
  return thread.id;
}

test('a turn runs, and the end of the input ends the server with code 0', async () => {
  const data = scratch();
  const program = new Program([...SERVER, '--data-dir', data]);
  await startTurn(program, 'say Good morning', scratch());
  await program.said('stdout', /turn\/completed/);
  program.child.stdin.end();
  const { code, stdout, stderr } = await program.ended;
  const lines = protocolLines(stdout);
  expect(code).toBe(0);
  expect(stderr).toContain('the client has gone');
  expect(lines[0]).toMatchObject({ id: 'init', result: { server: { name: 'heddle' } } });
  expect(lines.filter(({ method }) => method === 'item/agentMessage/delta')).toHaveLength(2);
});

test('what was asked before the end of the input is answered', async () => {
  const lines = [INITIALIZE, { id: 7, method: 'thread/list', params: {} }].map((line) => JSON.stringify(line));
  const { code, stdout } = await run([...SERVER, '--data-dir', scratch()], { input: `${lines.join('\n')}\n` });
  expect(code).toBe(0);
  expect(protocolLines(stdout).map(({ id }) => id)).toEqual(expect.arrayContaining(['init', 7]));
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s in mid-turn settles the turn and ends with code 0, the last line whole',
  async (signal) => {
    const data = scratch();
    const first = new Program([...SERVER, '--data-dir', data]);
    const threadId = await startTurn(first, 'say 100000 words at 200 a second', scratch());
    await first.said('stdout', /item\/agentMessage\/delta/);
    first.child.kill(signal);
    await first.said('stderr', /stops:/);
    // A second one changes nothing about the end that has begun.
    first.child.kill('SIGTERM');
    const ending = await first.ended;
    expect(ending).toMatchObject({ code: 0, signal: null });
    expect(ending.stderr).toContain(`received ${signal}`);
    protocolLines(ending.stdout);

    const second = new Program([...SERVER, '--data-dir', data]);
    second.write(INITIALIZE, { id: 3, method: 'thread/read', params: { threadId, includeTurns: true } });
    await second.said('stdout', /"id":3,"result"/);
    second.child.stdin.end();
    const { stdout } = await second.ended;
    const read = protocolLines(stdout).find(({ id }) => id === 3)!.result as {
      thread: { turns: { status: string; items: { type: string; text?: string }[] }[] };
    };
    expect(read.thread.turns[0]!.status).toBe('interrupted');
    expect(read.thread.turns[0]!.items.find(({ type }) => type === 'agentMessage')!.text).toMatch(/^word1 /);
  },
);

test('the end of the input and a signal right behind it are one clean end', async () => {
  const program = new Program([...SERVER, '--data-dir', scratch()]);
  await startTurn(program, 'hang', scratch());
  await program.said('stdout', /turn\/started/);
  program.child.stdin.end();
  await program.said('stderr', /stops:/);
  program.child.kill('SIGTERM');
  expect(await program.ended).toMatchObject({ code: 0, signal: null });
});

test('a command that is deaf to its end is gone when the server is, within five seconds (BC-19g)', async () => {
  const folder = scratch();
  const program = new Program([...SERVER, '--data-dir', scratch()]);
  await startTurn(program, 'run trap "" TERM HUP; sleep 600 & echo "pid $!"; wait', folder, {
    sandbox: 'danger-full-access',
  });
  const [, pid] = await program.said('stdout', /pid (\d+)\\n/);
  expect(isRunning(Number(pid))).toBe(true);
  program.child.kill('SIGTERM');
  const { code, stderr } = await program.ended;
  // It would have ended itself with another one after that time.
  expect(code).toBe(0);
  expect(stderr).toContain('received SIGTERM');
  expect(isRunning(Number(pid))).toBe(false);
});

test('whatever else is printed in the process lands on standard error', async () => {
  const preload = join(scratch(), 'noise.cjs');
  writeFileSync(
    preload,
    `process.on('SIGUSR2', () => {
      console.log('noise of console.log');
      console.table([['noise of a table']]);
      process.stdout.write('noise of a direct write\\n');
      process.emitWarning('noise of a warning', 'DeprecationWarning');
      new Buffer(1);
    });`,
  );
  const program = new Program([...SERVER, '--data-dir', scratch()], {
    preload,
    environment: { NODE_OPTIONS: '--trace-warnings' },
  });
  const threadId = await startTurn(program, 'say 100000 words at 200 a second', scratch());
  const [, turnId] = await program.said('stdout', /item\/agentMessage\/delta.*"turnId":"([^"]+)"/);
  program.child.kill('SIGUSR2');
  await program.said('stderr', /noise of a warning/);
  program.write({ id: 3, method: 'turn/interrupt', params: { threadId, turnId } });
  await program.said('stdout', /turn\/completed/);
  program.child.stdin.end();
  const { code, stdout, stderr } = await program.ended;
  expect(code).toBe(0);
  protocolLines(stdout);
  for (const noise of ['console.log', 'a table', 'a direct write']) expect(stderr).toContain(`noise of ${noise}`);
});

test.each([
  ['an uncaught exception', `process.on('SIGUSR2', () => { throw new Error('injected'); });`],
  ['an unhandled rejection', `process.on('SIGUSR2', () => { Promise.reject(new Error('injected')); });`],
])('%s ends it with code 1, its story on standard error, and the last line whole', async (_name, source) => {
  const preload = join(scratch(), 'fault.cjs');
  writeFileSync(preload, source);
  const program = new Program([...SERVER, '--data-dir', scratch()], { preload });
  await startTurn(program, 'say 100000 words at 1000 a second', scratch());
  await program.said('stdout', /item\/agentMessage\/delta/);
  program.child.kill('SIGUSR2');
  const { code, stdout, stderr } = await program.ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/a defect: Error: injected\n\s+at /);
  expect(protocolLines(stdout).length).toBeGreaterThan(0);
});

test('a commit that fails marks the store and leaves the server running', async () => {
  const preload = join(scratch(), 'commit.cjs');
  writeFileSync(
    preload,
    `process.on('SIGUSR2', () => { Promise.reject(new Error('Commit failed (see commitError for details)')); });`,
  );
  const program = new Program([...SERVER, '--data-dir', scratch()], { preload });
  program.write(INITIALIZE);
  await program.said('stdout', /"id":"init","result"/);
  program.child.kill('SIGUSR2');
  await program.said('stderr', /the store could not write/);
  program.write({ id: 1, method: 'thread/list', params: {} });
  await program.said('stdout', /"id":1,"result"/);
  program.child.stdin.end();
  expect((await program.ended).code).toBe(0);
});

test('without a choice of backend it says how to choose', async () => {
  const { code, stderr } = await run(['app-server', '--data-dir', scratch()]);
  expect(code).toBe(0);
  expect(stderr).toContain('--backend runtime');
});
