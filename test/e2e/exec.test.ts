// `heddle exec`: in this process, on a running server, on a named one; what it prints, and each of its exit codes.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fullDisk } from '../harness/full-disk.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { Program, protocolLines, run, scratch, serve } from './executable.ts';

const here = (data: string): string[] => ['--backend', 'mock', '--data-dir', data];

test('the answer goes to standard output, the work around it to standard error, plain', async () => {
  const folder = scratch();
  const prompt = 'think about it\nsay I look first.\nrun printf "found\\n"; exit 3\n\nsay Done looking.';
  const { code, stdout, stderr } = await run(['exec', prompt, '-C', folder, ...here(scratch())]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'I look first.\nDone looking.\n' });
  expect(stderr).toContain('about it\n');
  expect(stderr).toMatch(/\$ .*printf/);
  expect(stderr).toContain('found\n');
  expect(stderr).toContain('exit code 3\n');
  expect(stdout + stderr).not.toContain('\u001b');
});

test('--json prints each notification as a line', async () => {
  const { code, stdout } = await run(['exec', 'say hello', '--json', ...here(scratch())]);
  const methods = protocolLines(stdout).map(({ method }) => method);
  expect(code).toBe(0);
  expect(methods).toEqual(expect.arrayContaining(['thread/started', 'turn/started', 'item/agentMessage/delta']));
  expect(methods.at(-1)).toBe('turn/completed');
});

test('the prompt may come from standard input', async () => {
  const { code, stdout } = await run(['exec', '-', ...here(scratch())], { input: 'say from a pipe\n' });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'from a pipe\n' });
});

test('a failed turn is code 1, with the reason', async () => {
  const { code, stderr } = await run(['exec', 'fail', ...here(scratch())]);
  expect(code).toBe(1);
  expect(stderr).toContain('the turn failed: ');
});

test('without a choice of backend the turn fails and says what to choose', async () => {
  const { code, stderr } = await run(['exec', 'say hello', '--data-dir', scratch()]);
  expect(code).toBe(1);
  expect(stderr).toContain('--backend');
});

test('with nobody to ask, what needs approval does not run: code 3', async () => {
  const folder = scratch();
  const { code, stderr } = await run(['exec', 'run! touch made', '-C', folder, ...here(scratch())]);
  expect(code).toBe(3);
  expect(stderr).toContain('nobody is here to ask');
  expect(existsSync(join(folder, 'made'))).toBe(false);
});

test('what the policy refuses without a question is said: code 3', async () => {
  const folder = scratch();
  const never = ['-c', 'approval_policy=never', '-C', folder];
  const { code, stderr } = await run(['exec', 'run! touch made', ...never, ...here(scratch())]);
  expect(code).toBe(3);
  expect(stderr).toMatch(/a command was refused \(.*never to ask\): .*touch made/);
  expect(existsSync(join(folder, 'made'))).toBe(false);
});

test('changes of files are shown, done in the workspace, and declined outside with nobody to ask', async () => {
  const [folder, outside] = [scratch(), scratch()];
  const writing = ['-c', 'sandbox_mode=workspace-write', '-C', folder];
  const prompt = `patch add a.txt one\\ntwo\n\npatch replace a.txt one => ONE\n\npatch add ${outside}/b.txt x`;
  const { code, stderr } = await run(['exec', prompt, ...writing, ...here(scratch())]);
  expect(code).toBe(3);
  expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('ONE\ntwo\n');
  expect(existsSync(join(outside, 'b.txt'))).toBe(false);
  expect(stderr).toContain(`new: ${join(folder, 'a.txt')}\n+one\n+two\n`);
  expect(stderr).toContain(`changed: ${join(folder, 'a.txt')}\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n`);
  expect(stderr).toContain(`nobody is here to ask: new: ${outside}/b.txt`);
  expect(stderr).toContain('declined: nothing was changed');
});

test('a server that cannot go on with the thread ends it with code 1', async () => {
  const { disk, openHistory } = fullDisk();
  const { address } = await startApp({ transport: 'unix', openHistory });
  const program = new Program(['exec', 'say 100000 words at 100 a second', '--remote', address]);
  await program.said('stdout', /./);
  disk.isFull = true;
  const { code, stderr } = await program.ended;
  await cleanUp();
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('let go of the thread') });
});

test('it uses the server that runs on the data directory, by its socket', async () => {
  const data = scratch();
  const { program } = await serve(['--listen', 'unix://', '--data-dir', data]);
  const { code, stdout } = await run(['exec', 'say by the socket', '--data-dir', data]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'by the socket\n' });
  program.child.kill('SIGTERM');
  expect((await program.ended).code).toBe(0);
});

test('it uses the server that runs on the data directory, by its WebSocket and token file', async () => {
  const data = scratch();
  await serve(['--listen', 'ws://127.0.0.1:0', '--data-dir', data]);
  const { code, stdout } = await run(['exec', 'say by the web', '--data-dir', data]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'by the web\n' });
});

test('a named server gets the token of the variable; a wrong one is code 4', async () => {
  const data = scratch();
  const { address } = await serve(['--listen', 'ws://127.0.0.1:0', '--data-dir', data]);
  const args = ['exec', 'say hello', '--remote', address, '--remote-auth-token-env', 'TOKEN'];
  const token = readFileSync(join(data, 'ws-token'), 'utf8');
  const right = await run(args, { environment: { TOKEN: token } });
  expect({ code: right.code, stdout: right.stdout }).toEqual({ code: 0, stdout: 'hello\n' });
  const wrong = await run(args, { environment: { TOKEN: 'wrong' } });
  expect(wrong.code).toBe(4);
  expect(wrong.stderr).toContain('refused the connection (401)');
});

test('a command that somebody else declined is code 3', async () => {
  const secret = join(scratch(), 'secret');
  await run(['token', 'new', '--file', secret]);
  const scope = ['--scope', 'thread:read thread:write'];
  const { stdout } = await run(['token', 'sign', '--secret-file', secret, '--sub', 'alice', ...scope]);
  const auth = ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', secret];
  const listen = ['--listen', 'ws://127.0.0.1:0', '--data-dir', scratch(), ...auth, '-c', 'unattended=decline'];
  const { address } = await serve(listen);
  const args = ['exec', 'run! true', '--remote', address, '--remote-auth-token-env', 'TOKEN'];
  const { code, stderr } = await run(args, { environment: { TOKEN: stdout.trim() } });
  expect(stderr).toContain('declined: it did not run');
  expect(code).toBe(3);
});

test('a server that is not there, or cannot be used, is code 4', async () => {
  const gone = await run(['exec', 'say hello', '--remote', `unix://${join(scratch(), 'none.sock')}`]);
  expect(gone).toMatchObject({ code: 4, stdout: '' });
  expect(gone.stderr).toContain('cannot connect');
  const data = scratch();
  const other = new Program(['app-server', '--listen', 'off', '--data-dir', data]);
  await other.said('stderr', /not listening/);
  const owned = await run(['exec', 'say hello', ...here(data)]);
  expect(owned.code).toBe(4);
  expect(owned.stderr).toContain(`pid ${other.child.pid}`);
});

test('Ctrl-C interrupts the turn, waits for its end and is code 130', async () => {
  const data = scratch();
  const program = new Program(['exec', 'say 100000 words at 100 a second', '--json', ...here(data)]);
  await program.said('stdout', /item\/agentMessage\/delta/);
  program.child.kill('SIGINT');
  const { code, stdout } = await program.ended;
  expect(code).toBe(130);
  expect(protocolLines(stdout).at(-1)).toMatchObject({
    method: 'turn/completed',
    params: { turn: { status: 'interrupted' } },
  });
});

test('what it stored proves to be whole, and a changed byte is found', async () => {
  const data = scratch();
  const { stdout } = await run(['exec', 'say marker-one', '--json', ...here(data)]);
  const started = protocolLines(stdout).find(({ method }) => method === 'thread/started');
  const { id } = (started!.params as { thread: { id: string } }).thread;
  const whole = await run(['history', 'verify', '--data-dir', data]);
  expect(whole.code).toBe(0);
  expect(whole.stdout).toMatch(/^1 thread, \d+ records: all as written\n$/);

  const file = join(data, 'history', 'data.mdb');
  writeFileSync(file, readFileSync(file, 'latin1').replaceAll('marker-one', 'marker-two'), 'latin1');
  const changed = await run(['history', 'verify', '--thread', id, '--data-dir', data]);
  expect(changed.code).toBe(1);
  expect(changed.stdout).toMatch(new RegExp(`^damaged: thread ${id} .*, record \\d+: it is not what was written\n`));
});

test('there is nothing to verify where there is no history: code 1', async () => {
  const { code, stderr } = await run(['history', 'verify', '--data-dir', scratch()]);
  expect(code).toBe(1);
  expect(stderr).toContain('there is no history');
});

test('--thread goes on with a thread, in its own folder', async () => {
  const [data, folder] = [scratch(), scratch()];
  const first = await run(['exec', 'say one', '--json', '-C', folder, ...here(data)]);
  const { thread } = protocolLines(first.stdout).find(({ method }) => method === 'thread/started')!.params as {
    thread: { id: string };
  };
  const second = await run(['exec', 'run pwd', '--thread', thread.id, ...here(data)]);
  expect(second).toMatchObject({ code: 0, stderr: expect.stringContaining(`${folder}\n`) });
  const unknown = await run(['exec', 'say x', '--thread', 'nowhere', ...here(data)]);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('nowhere') });
});

test('a schema that is no JSON is told before anything is started', async () => {
  const file = join(scratch(), 'schema.json');
  writeFileSync(file, '{');
  const { code, stderr } = await run(['exec', 'say x', '--output-schema', file, ...here(scratch())]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`--output-schema ${file}`) });
});

test('an image goes with the prompt, and one that is not there is told', async () => {
  const file = join(scratch(), 'dot.png');
  writeFileSync(file, Buffer.from(DOT, 'base64'));
  expect(await run(['exec', 'say seen', '--image', file, ...here(scratch())])).toMatchObject({
    code: 0,
    stdout: 'seen\n',
  });
  const { code, stderr } = await run(['exec', 'say seen', '--image', '/nowhere/dot.png', ...here(scratch())]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--image /nowhere/dot.png') });
});

/** A picture of one point. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
