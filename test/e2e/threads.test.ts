// `heddle threads`: what is stored, listed, shown and put in order from a terminal, with and without a server.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Program, protocolLines, type Run, run, scratch, serve } from './executable.ts';

const threads = (data: string, ...args: readonly string[]): Promise<Run> =>
  run(['threads', ...args, '--data-dir', data]);

async function turn(data: string, prompt: string): Promise<string> {
  const { stdout } = await run(['exec', prompt, '--json', '--backend', 'mock', '--data-dir', data]);
  const started = protocolLines(stdout).find(({ method }) => method === 'thread/started')!;
  return (started.params as { thread: { id: string } }).thread.id;
}

test('a directory that was never used is not made by looking into it', async () => {
  const data = join(scratch(), 'data');
  expect(await threads(data, 'list')).toMatchObject({ code: 0, stdout: 'there is no thread yet\n' });
  expect(await threads(data, 'list', '--json')).toMatchObject({ code: 0, stdout: '' });
  expect(await threads(data, 'show', 'x')).toMatchObject({
    code: 1,
    stderr: `heddle: there is no history in ${data}; \`--data-dir\` or HEDDLE_HOME names another directory\n`,
  });
  expect(existsSync(data)).toBe(false);
});

test('without a server the data directory itself is read', async () => {
  const data = scratch();
  expect(await threads(data, 'list')).toMatchObject({ code: 0, stdout: 'there is no thread yet\n' });
  const id = await turn(data, 'say \u001b[31mhello\nrun exit 3');
  const { code, stdout } = await threads(data, 'list');
  expect(code).toBe(0);
  expect(stdout).toMatch(
    new RegExp(`^${id}  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  say \\\\u001b\\[31mhello run exit 3\n$`),
  );
  const shown = await threads(data, 'show', id);
  expect(shown.stdout).toContain('> say \\u001b[31mhello\nrun exit 3\n');
  expect(shown.stdout).toMatch(/^\$ .*exit 3.* \(exit code 3\)$/m);
  expect(
    protocolLines((await threads(data, 'show', id, '--json')).stdout).map(
      ({ item }) => (item as { type: string }).type,
    ),
  ).toEqual(expect.arrayContaining(['userMessage', 'commandExecution', 'agentMessage']));
});

test('the running server is asked, here and by its address', async () => {
  const data = scratch();
  const ids = [await turn(data, 'say one'), await turn(data, 'say two'), await turn(data, 'say three')];
  const { program, address } = await serve(['--listen', 'unix://', '--data-dir', data]);
  const listed = async (...args: readonly string[]) =>
    protocolLines((await threads(data, 'list', '--json', ...args)).stdout).map(({ id }) => id);
  expect(await listed()).toEqual(ids.toReversed());
  expect(await listed('--limit', '2')).toEqual([ids[2], ids[1]]);
  expect(await listed('--search', 'two')).toEqual([ids[1]]);
  const remote = await run(['threads', 'list', '--remote', address]);
  expect(remote.stdout.split('\n')).toHaveLength(4);
  expect((await threads(data, 'archive', ids[0] as string)).stdout).toBe(`archived: ${ids[0]}\n`);
  expect([await listed(), await listed('--archived')]).toEqual([[ids[2], ids[1]], [ids[0]]]);
  await threads(data, 'unarchive', ids[0] as string);
  expect(await listed()).toHaveLength(3);
  program.child.kill('SIGTERM');
  await program.ended;
});

test('nothing is deleted without a word', async () => {
  const data = scratch();
  const id = await turn(data, 'say hello');
  expect(await threads(data, 'delete', id)).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') });
  expect(await threads(data, 'delete', id, '--dry-run')).toMatchObject({ code: 0, stdout: `${id}\n` });
  expect(await threads(data, 'delete', id, '--force')).toMatchObject({ code: 0, stdout: `deleted: ${id}\n` });
  expect(await threads(data, 'show', id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('thread not found'),
  });
});

test('a reader that has seen enough is no failure', async () => {
  const data = scratch();
  await turn(data, 'say hello');
  const program = new Program(['threads', 'list', '--data-dir', data]);
  program.child.stdout.destroy();
  expect(await program.ended).toMatchObject({ code: 0, stderr: '' });
});
