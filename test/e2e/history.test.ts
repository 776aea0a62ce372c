// The commands that look after a history, as they are typed: beside a running server, alone, and on a file that is damaged.

import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isRoot, unprivileged } from '../harness/unprivileged.ts';
import { EXECUTABLE, protocolLines, run, scratch, serve } from './executable.ts';

/** Many programs are started one after the other. */
const LIMIT_MS = 300_000;

/** In the flags of a page of the database. */
const LEAF = 0x02;

/** Runs a turn; gives the id of its thread. */
async function turn(data: string): Promise<string> {
  const { code, stdout } = await run(['exec', '--json', '--backend', 'mock', '--data-dir', data, 'say hello']);
  expect(code).toBe(0);
  return /"threadId":"([^"]+)"/.exec(stdout)![1]!;
}

const history = (data: string, ...args: string[]) => run(['history', ...args, '--data-dir', data]);

test(
  'a thread is exported, proved, and brought into another history; a server that runs is not disturbed',
  async () => {
    const [data, other, out] = [scratch(), scratch(), scratch()];
    const thread = await turn(data);
    const { program } = await serve(['--data-dir', data, '--listen', `unix://${join(scratch(), 's')}`]);
    try {
      const { stdout } = await history(data, 'stats', '--json');
      expect(JSON.parse(stdout)).toMatchObject({ tenants: [{ tenant: 'local', threads: 1, turns: 1 }] });
      expect(await history(data, 'verify')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('all as written'),
      });
      expect(await history(data, 'backup', join(out, 'backup'))).toMatchObject({ code: 0 });
      for (const command of ['compact', 'import'] as const) {
        const refused = await history(data, command, ...(command === 'import' ? [join(out, 'none')] : []));
        expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/a server runs on .*: stop it first/) });
      }
    } finally {
      program.child.kill('SIGTERM');
      await program.ended;
    }
    const listed = await history(join(out, 'backup'), 'verify');
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 thread/) });
    expect(await history(data, 'compact')).toMatchObject({ code: 0 });
    const file = join(out, 'thread.jsonl');
    expect(await history(data, 'export', thread, '-o', file)).toMatchObject({ code: 0 });
    expect(await run(['history', 'verify', '--file', file])).toMatchObject({ code: 0 });
    expect(await history(other, 'import', file)).toMatchObject({ code: 0, stdout: expect.stringContaining(thread) });
    expect(await history(other, 'verify', '--thread', thread)).toMatchObject({ code: 0 });
    const missing = await history(data, 'export', 'no-such-thread');
    expect(missing).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('thread not found') });
    const none = join(out, 'none.jsonl');
    expect(await history(data, 'export', 'no-such-thread', '-o', none)).toMatchObject({ code: 1 });
    expect(existsSync(none)).toBe(false);
    const empty = await run(['history', 'compact', '--data-dir', join(out, 'nothing')]);
    expect(empty).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^heddle: there is no history in .*HEDDLE_HOME names another directory\n$/),
    });
    expect(await history(other, 'import', join(out, 'no-such-file'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be read'),
    });
  },
  LIMIT_MS,
);

test(
  'a damaged file is told with its path, refused by a server, and replaced by the backup',
  async () => {
    const [data, out] = [scratch(), scratch()];
    await turn(data);
    const backup = join(out, 'backup');
    expect(await history(data, 'backup', backup)).toMatchObject({ code: 0 });
    const file = join(data, 'history', 'data.mdb');
    const content = readFileSync(file);
    // All pages but the first two, so that it still begins like a database.
    writeFileSync(file, content.fill(0xa5, 8192));
    expect(await history(data, 'verify')).toMatchObject({ code: 1, stderr: expect.stringContaining(file) });
    for (const _ of [1, 2, 3]) {
      const server = await run(['app-server', '--backend', 'mock', '--data-dir', data]);
      expect(server).toMatchObject({ code: 1, signal: null, stderr: expect.stringContaining('history') });
    }
    expect(await history(data, 'repair', '--from', backup)).toMatchObject({ code: 0, stderr: '' });
    expect(await history(data, 'verify')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 thread/) });
    expect(readdirSync(data).some((name) => name.startsWith('history.damaged-'))).toBe(true);
    expect(existsSync(join(data, 'history', 'in-use.json'))).toBe(false);
    await turn(data);
  },
  LIMIT_MS,
);

test(
  'pages of the file that have changed places end in a verdict, and a server refuses or serves, as it is',
  async () => {
    const data = scratch();
    for (let index = 0; index < 6; index += 1) await turn(data);
    const file = join(data, 'history', 'data.mdb');
    const content = readFileSync(file);
    const pageSize = 4096;
    const leaves = Array.from({ length: content.length / pageSize }, (_, page) => page * pageSize).filter(
      (at) => at >= 2 * pageSize && (content.readUInt16LE(at + 18) & LEAF) !== 0,
    );
    expect(leaves.length).toBeGreaterThan(3);
    const [a, b] = [leaves[0]!, leaves.at(-1)!];
    const swapped = Buffer.from(content);
    content.copy(swapped, a, b, b + pageSize);
    content.copy(swapped, b, a, a + pageSize);
    writeFileSync(file, swapped);
    const verdict = await history(data, 'verify');
    expect(verdict.signal).toBeNull();
    const server = await run(['app-server', '--backend', 'mock', '--data-dir', data]);
    expect(server.signal).toBeNull();
    // Pages that nothing leads to any more may change places as they like.
    if (verdict.code === 0) expect(server.code).toBe(0);
    if (server.code !== 0) expect(server.stderr).toContain(join(data, 'history'));
  },
  LIMIT_MS,
);

test(
  'a history that may be read and not written is read, with one warning; one that may not be read is refused (BC-18g)',
  async () => {
    const data = scratch();
    const thread = await turn(data);
    const file = join(data, 'history', 'data.mdb');
    const before = readFileSync(file);
    const asUser = (input: string, ...args: string[]) => {
      const [command, program] = unprivileged([process.execPath, EXECUTABLE, ...args, '--data-dir', data]);
      return run(program, { command, input });
    };
    chmodSync(file, 0o444);
    const asked = [
      { method: 'initialize', params: { clientInfo: { name: 'e2e', version: '1' } } },
      { method: 'thread/list', params: {} },
      { method: 'thread/resume', params: { threadId: thread } },
      { method: 'thread/start', params: {} },
      { method: 'thread/start', params: { ephemeral: true } },
    ].map((message, id) => JSON.stringify({ id, ...message }));
    const server = await asUser(`${asked.join('\n')}\n`, 'app-server', '--backend', 'mock');
    expect(server).toMatchObject({ code: 0, signal: null });
    expect(server.stderr.match(/may not be written \(EACCES at /g)).toHaveLength(1);
    const answers = protocolLines(server.stdout);
    const to = (id: number) => answers.find((answer) => answer.id === id);
    expect(to(1)).toMatchObject({ result: { data: [{ id: thread }] } });
    expect(to(2)).toMatchObject({ result: { thread: { id: thread, turns: [{ status: 'completed' }] } } });
    expect(to(3)).toMatchObject({ error: { code: -32603, message: expect.stringContaining('EACCES') } });
    expect(to(4)).toMatchObject({ result: { thread: { ephemeral: true } } });
    // What only reads can do without, and what writes says why it cannot.
    expect(await asUser('', 'history', 'verify')).toMatchObject({ code: 0 });
    const { stdout: found } = await asUser('', 'doctor', '--json');
    expect(JSON.parse(found)).toContainEqual(expect.objectContaining({ state: 'doubtful', about: 'history' }));
    for (const args of [['compact'], ['import', file]])
      expect(await asUser('', 'history', ...args)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^heddle: the history may not be written \(EACCES at .*: correct its permissions, or.*\n$/,
        ),
      });
    expect(readFileSync(file).equals(before)).toBe(true);
    chmodSync(file, 0);
    for (const args of [
      ['app-server', '--backend', 'mock'],
      ['history', 'verify'],
    ]) {
      const { code, stderr } = await asUser('', ...args);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('EACCES') });
      expect(stderr).not.toContain('damaged');
      expect(stderr).not.toMatch(/^ {4}at /m);
    }
    chmodSync(file, 0o600);
    expect(await asUser('', 'exec', '--backend', 'mock', 'say again')).toMatchObject({ code: 0 });
    expect(await asUser('', 'history', 'verify')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^2 threads/),
    });
  },
  LIMIT_MS,
);

test.skipIf(!isRoot)(
  'a history on a mount for reading only is read (BC-18g)',
  async () => {
    const data = scratch();
    const thread = await turn(data);
    const folder = join(data, 'history');
    const names = readdirSync(folder);
    const mount = ['--dev-bind', '/', '/', '--ro-bind', folder, folder];
    const server = ['app-server', '--backend', 'mock', '--data-dir', data];
    const asked = [
      { id: 0, method: 'initialize', params: { clientInfo: { name: 'e2e', version: '1' } } },
      { id: 1, method: 'thread/read', params: { threadId: thread, includeTurns: true } },
    ].map((message) => JSON.stringify(message));
    const { code, stdout, stderr } = await run([...mount, process.execPath, EXECUTABLE, ...server], {
      ...{ command: 'bwrap', input: `${asked.join('\n')}\n` },
    });
    expect(code).toBe(0);
    expect(stderr.match(/may not be written \(EROFS at .*: make its file system writable/g)).toHaveLength(1);
    const answer = protocolLines(stdout).find(({ id }) => id === 1);
    expect(answer).toMatchObject({ result: { thread: { id: thread, turns: [{ status: 'completed' }] } } });
    expect(readdirSync(folder)).toEqual(names);
  },
  LIMIT_MS,
);
