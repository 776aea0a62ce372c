// Programs on terminals: nothing of a burst is lost, the end comes last, and what comes too late is told.

import { readlinkSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { BARE, bash, encoded, exited, printed, streamed } from '../harness/processes.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';

afterEach(cleanUp);

/** 200 by command. */
const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 20);
const BURST = 'head -c 65536 /dev/urandom | base64 -w0';
const LENGTH = Math.ceil(65_536 / 3) * 4;

const connect = async () => (await startApp()).connect({ experimentalApi: true });

const write = (client: TestClient, processId: string, text: string) =>
  client.request('command/exec/write', { processId, deltaBase64: encoded(text) });

test.each([true, false])(
  'a burst before the exit arrives whole, and the exit after it; on a terminal: %s',
  async (tty) => {
    const server = await startApp();
    const client = await server.connect({ experimentalApi: true });
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = `p${round}`;
      const params = { command: bash(BURST), tty, streamStdoutStderr: true, disableOutputCap: true };
      const result = await client.request('command/exec', { ...BARE, ...params, processId: name });
      expect(result).toEqual({ exitCode: 0, stdout: '', stderr: '' });
      expect(streamed(client, name).length).toBe(LENGTH);
      const spawn = { cwd: server.workspace, command: bash(BURST), tty, streamStdoutStderr: true };
      await client.request('process/spawn', { ...spawn, processHandle: name, outputBytesCap: null });
      await exited(client, name);
      const told = client.transcript.filter((each) => each.params?.processHandle === name);
      expect(told.map((each) => each.method).indexOf('process/exited')).toBe(told.length - 1);
      const deltas = told.filter((each) => each.method === 'process/outputDelta');
      expect(deltas.reduce((sum, each) => sum + Buffer.from(each.params.deltaBase64, 'base64').length, 0)).toBe(LENGTH);
      client.transcript.length = 0;
    }
  },
  120_000,
);

test('has the size asked for and a new one, takes input, and its foreground program hears Ctrl-C', async () => {
  const client = await connect();
  const run = client.request('command/exec', {
    ...BARE,
    command: bash('stty size; read x; stty size; [ -t 0 ] && [ -t 2 ] && echo tty $x; exit 7'),
    processId: 'p',
    tty: true,
    size: { rows: 24, cols: 80 },
  });
  await printed(client, 'p', '24 80');
  await client.request('command/exec/resize', { processId: 'p', size: { rows: 30, cols: 100 } });
  const zero = await client.refusal('command/exec/resize', { processId: 'p', size: { rows: 0, cols: 0 } });
  expect(zero.code).toBe(-32602);
  await write(client, 'p', 'go\n');
  expect(await run).toEqual({ exitCode: 7, stdout: '', stderr: '' });
  expect(streamed(client, 'p').toString()).toContain('30 100\r\ntty go\r\n');

  const sleeping = client.request('command/exec', {
    ...BARE,
    command: bash('echo ready; exec sleep 60'),
    processId: 'q',
    tty: true,
  });
  await printed(client, 'q', 'ready');
  await write(client, 'q', '\x03');
  expect(await sleeping).toMatchObject({ exitCode: 130 });
});

test('is told the end of input, takes long input, and says what comes too late', async () => {
  const client = await connect();
  const run = client.request('command/exec', {
    ...BARE,
    command: bash('stty -echo; echo ready; wc -c'),
    processId: 'p',
    tty: true,
  });
  await printed(client, 'p', 'ready');
  await write(client, 'p', `${'x'.repeat(79)}\n`.repeat(1000));
  await client.request('command/exec/write', { processId: 'p', closeStdin: true });
  expect(await client.refusal('command/exec/write', { processId: 'p', closeStdin: true })).toMatchObject({
    code: expect.any(Number),
  });
  expect(await run).toMatchObject({ exitCode: 0 });
  expect(streamed(client, 'p').toString()).toContain('80001');
  for (const [method, params] of [
    ['command/exec/write', { deltaBase64: encoded('x') }],
    ['command/exec/resize', { size: { rows: 1, cols: 1 } }],
    ['command/exec/terminate', {}],
    ['command/exec/terminate', {}],
  ] as const)
    expect(await client.refusal(method, { processId: 'p', ...params })).toMatchObject({
      code: -32004,
      message: expect.stringContaining('it has ended'),
    });
});

test('is killed with everything on it', async () => {
  const client = await connect();
  const run = client.request('command/exec', {
    ...BARE,
    command: bash('trap "" TERM HUP INT; sleep 61 & echo ready; wait; sleep 61'),
    processId: 'p',
    tty: true,
  });
  await printed(client, 'p', 'ready');
  await client.request('command/exec/terminate', { processId: 'p' });
  expect(await run).toMatchObject({ exitCode: 137 });
});

test('is there in the sandbox too, which confines what runs on it', async () => {
  const server = await startApp({ config: { sandbox_mode: 'workspace-write' } });
  const client = await server.connect();
  const probe = await client.request('command/exec', { command: ['true'] }).catch((error: Error) => error.message);
  if (typeof probe === 'string') {
    console.warn(`SKIPPED, no sandbox here: ${probe}`);
    return;
  }
  const script = 'stty size </dev/tty; touch /usr/denied 2>/dev/null || echo denied; read x; echo got $x; exit 5';
  const run = client.request('command/exec', { command: bash(script), processId: 'p', tty: true });
  await printed(client, 'p', 'denied');
  await write(client, 'p', 'this\n');
  expect(await run).toMatchObject({ exitCode: 5 });
  expect(streamed(client, 'p').toString()).toMatch(/^24 80\r\ndenied\r\n.*got this\r\n$/s);
});

test('cannot be reached by other programs through what they inherit', async () => {
  const client = await connect();
  const shell = client.request('command/exec', { ...BARE, command: ['cat'], processId: 'p', tty: true });
  await write(client, 'p', 'x\n');
  await printed(client, 'p', 'x');
  const look = 'for each in /proc/self/fd/*; do readlink $each; done';
  const { stdout } = await client.request('command/exec', { ...BARE, command: bash(look) });
  expect(stdout).not.toMatch(/ptmx|pts/);
  await client.request('command/exec', { ...BARE, command: bash(look), processId: 'q', tty: true });
  expect(streamed(client, 'q').toString()).not.toContain('ptmx');
  // The look is worth something: the server itself has it.
  expect(ownDescriptors()).toContain('/dev/ptmx');
  await client.request('command/exec/terminate', { processId: 'p' });
  await shell;
});

function ownDescriptors(): string[] {
  const found: string[] = [];
  for (let descriptor = 0; descriptor < 1000; descriptor += 1) {
    try {
      found.push(readlinkSync(`/proc/self/fd/${descriptor}`));
    } catch {} // it is not open
  }
  return found;
}
