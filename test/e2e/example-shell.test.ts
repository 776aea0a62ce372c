// The shell script of examples/ over the Unix socket: a turn, both answers to a question, a failure, and no server.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Program, scratch, serve } from './executable.ts';
import { areInstalled } from './installed.ts';

const SCRIPT = fileURLToPath(new URL('../../examples/automation.sh', import.meta.url));
const isRunnable = areInstalled('bash', 'socat', 'jq');

async function socketOfServer(): Promise<string> {
  const { address } = await serve(['--listen', `unix://${join(scratch(), 'heddle.sock')}`, '--data-dir', scratch()]);
  return address.slice('unix://'.length);
}

async function script(socket: string, ...args: string[]) {
  const folder = scratch();
  const program = new Program(args, { command: SCRIPT, cwd: folder, environment: { HEDDLE_SOCKET: socket } });
  const ran = await program.ended;
  return { ...ran, made: (name: string) => existsSync(join(folder, name)) };
}

test.skipIf(!isRunnable)('a script runs turns over the socket and answers what is asked', async () => {
  const socket = await socketOfServer();
  const said = await script(socket, 'say "Quoted" \\n words\nrun! touch asked\nsay Last words', 'accept');
  expect(said).toMatchObject({ code: 0, stdout: '"Quoted" \\n words\nLast words\n' });
  expect(said.stderr).toBe("accept: /bin/bash -lc 'touch asked'\ncompleted\n");
  expect(said.made('asked')).toBe(true);
  const declined = await script(socket, 'run! touch asked\n\npatch add patched.txt x');
  expect(declined).toMatchObject({ code: 0, stdout: 'Done.\n' });
  expect(declined.stderr).toContain('decline: ');
  expect(declined.made('asked')).toBe(false);
});

test.skipIf(!isRunnable)('a script ends with 1 when the turn fails, and when there is no server', async () => {
  const socket = await socketOfServer();
  expect(await script(socket, 'fail')).toMatchObject({ code: 1, stdout: '', stderr: 'the script asks to fail\n' });
  const nowhere = join(scratch(), 'none.sock');
  expect(await script(nowhere, 'say x')).toMatchObject({ code: 1, stderr: `no server listens on ${nowhere}\n` });
});
