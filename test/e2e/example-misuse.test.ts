// The examples used wrongly: one clear line and an exit code, never a stack.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { EXECUTABLE, type LaunchOptions, type Run, run, scratch, serve } from './executable.ts';
import { areInstalled } from './installed.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));
const example = (name: string, args: readonly string[], options: LaunchOptions = {}): Promise<Run> =>
  run(args, { ...options, executable: join(EXAMPLES, name) });

/** `lines`: how many may come before the one that says what is wrong. */
function saysSo({ code, stderr }: Run, expected: number, what: RegExp, lines = 0): void {
  expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringMatching(what) });
  expect(stderr.trimEnd().split('\n').length, stderr).toBeLessThanOrEqual(lines + 1);
}

test('the client that starts a server: none to start, none that starts, a turn that fails', async () => {
  const nowhere = { environment: { HEDDLE_COMMAND: join(scratch(), 'heddle') } };
  saysSo(await example('node-client.mjs', [], nowhere), 1, /cannot start .*heddle/);
  const broken = { environment: { HEDDLE_COMMAND: '/bin/false' } };
  saysSo(await example('node-client.mjs', [], broken), 1, /closed|ended/);
  const failing = await example('node-client.mjs', ['fail'], { environment: { HEDDLE_COMMAND: EXECUTABLE } });
  expect(failing).toMatchObject({ code: 1, stdout: expect.stringMatching(/failed\n$/) });
});

test('the remote client: no argument, no server, no token, a wrong one', async () => {
  const client = (args: string[], token?: string) =>
    example('remote-client.mjs', args, token === undefined ? {} : { environment: { HEDDLE_TOKEN: token } });
  saysSo(await client([]), 2, /^usage: /);
  saysSo(await client(['ws://127.0.0.1:9', '/']), 2, /^usage: /);
  saysSo(await client(['http://127.0.0.1', '/', 'x']), 1, /^cannot connect to `http/);
  saysSo(await client(['ws://192.0.2.1', '/', 'x'], 'token'), 1, /^a token is not sent to 192\.0\.2\.1/);
  saysSo(await client(['ws://127.0.0.1:9', '/', 'x']), 1, /^cannot connect to ws:/);
  const { address } = await serve(['--listen', 'ws://127.0.0.1:0', '--data-dir', scratch()]);
  saysSo(await client([address, '/', 'x']), 1, /refused the connection \(401\): missing/);
  const wrong = await client([address, '/', 'x'], 'a-wrong-token');
  saysSo(wrong, 1, /refused the connection \(401\): invalid/);
  expect(wrong.stderr).not.toContain('a-wrong-token');
});

test('the server of the page: a port that is none, one that is taken', async () => {
  saysSo(await example('browser/serve.mjs', ['door']), 2, /^usage: /);
  saysSo(await example('browser/serve.mjs', ['99999']), 2, /^usage: /);
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  saysSo(await example('browser/serve.mjs', [String((taken.address() as AddressInfo).port)]), 1, /EADDRINUSE/);
  await new Promise((resolve) => taken.close(resolve));
});

test.skipIf(!areInstalled('bash', 'socat', 'jq'))(
  'the script: no argument, a socket that nobody listens on',
  async () => {
    const script = (args: string[], socket: string) =>
      run(args, { command: join(EXAMPLES, 'automation.sh'), environment: { HEDDLE_SOCKET: socket } });
    saysSo(await script([], '/'), 2, /^usage: /);
    const { program, address } = await serve(['--listen', `unix://${join(scratch(), 's')}`, '--data-dir', scratch()]);
    program.child.kill('SIGKILL');
    await program.ended;
    saysSo(await script(['say x'], address.slice('unix://'.length)), 1, /the server has left\n$/, 1);
  },
);
