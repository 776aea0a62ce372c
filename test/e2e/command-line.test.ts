// What all commands have in common: tokens stay secret, output fits a narrow terminal, colours are for terminals, and a reader may leave.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CommandNode, treeOf } from '../../src/cli/command-tree.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { connect } from '../../src/client/local.ts';
import { Program, protocolLines, run, scratch, serve } from './executable.ts';
import { Terminal } from './terminal.ts';

/** The commands with this flag, as typed, with something for each argument. */
function* withFlag(
  flag: string,
  node: CommandNode = treeOf(COMMANDS),
  path: readonly string[] = [],
): Generator<string[]> {
  const words = [...path, ...node.positionals.map(({ name }) => name)];
  if (node.options.some(({ names }) => names.includes(flag))) yield words;
  for (const each of node.commands) yield* withFlag(flag, each, [...path, each.name]);
}

const remoteCommands = [...withFlag('--remote')].map((words) => [words.join(' '), words] as const);

describe('with --remote', () => {
  test('there are all commands that talk to a server', () => {
    const names = remoteCommands.map(([name]) => name.replace(/ (thread|id|key|line|prompt|value|decision)\b/g, ''));
    expect(names.toSorted()).toEqual(
      [
        ...['exec', 'chat', 'attach', 'doctor', 'policy explain', 'approvals list', 'approvals answer'],
        ...['config get', 'config set', 'config unset'],
        ...['list', 'show', 'export', 'archive', 'unarchive', 'delete'].map((verb) => `threads ${verb}`),
      ].toSorted(),
    );
    for (const [, words] of remoteCommands) expect([...withFlag('--remote-auth-token-env')]).toContainEqual(words);
  });

  test('no flag takes a token itself', () => {
    for (const flag of ['--token', '--auth-token', '--remote-auth-token', '--ws-token', '--bearer'])
      expect([...withFlag(flag)]).toEqual([]);
  });

  test.each(remoteCommands.filter(([name]) => name !== 'chat'))(
    'heddle %s: the token is not sent in clear to another machine',
    async (_name, words) => {
      const flags = ['--remote', 'ws://192.0.2.1:9', '--remote-auth-token-env', 'SECRET'];
      const force = words[1] === 'delete' ? ['--force'] : [];
      const { code, stdout, stderr } = await run([...words, ...flags, ...force], {
        environment: { SECRET: 'do-not-tell' },
      });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/a token is not sent to 192\.0\.2\.1 in plain text; use `wss:\/\/`/);
      expect(stderr).not.toContain('do-not-tell');
    },
  );
});

test('settings of another server are read and written over the wire', async () => {
  const data = scratch();
  const file = join(data, 'config.yaml');
  writeFileSync(file, 'backend: mock # kept\n');
  const { address } = await serve(['--data-dir', data, '--listen', 'unix://']);
  const config = (...args: readonly string[]) => run(['config', ...args, '--remote', address]);
  expect(await config('set', 'model', 'my-model')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect(readFileSync(file, 'utf8')).toBe('backend: mock # kept\nmodel: my-model\n');
  expect(await config('get', 'model')).toMatchObject({ code: 0, stdout: 'my-model\n' });
  expect(JSON.parse((await config('get')).stdout)).toMatchObject({ model: 'my-model' });
  expect(await config('unset', 'model')).toMatchObject({ code: 0 });
  expect(await config('get', 'model')).toMatchObject({ code: 1, stderr: 'heddle: `model` is not set\n' });
  expect(await config('set', 'sandbox_mode', 'all')).toMatchObject({ code: 2, stderr: expect.stringContaining('all') });
  expect(await config('get', '-c', 'model=x')).toMatchObject({ code: 2 });
});

test('a thread is exported whole, over the wire and from the data directory', async () => {
  const data = scratch();
  const { address, program } = await serve(['--data-dir', data, '--listen', 'unix://']);
  const client = await connect({ name: 'e2e', version: '1', url: address });
  const thread = await client.thread({ cwd: scratch() });
  for (let turn = 0; turn < 3; turn += 1) await thread.turn(`say ${turn}\nrun echo ${turn}`).completed;
  await client.close();
  const overWire = await run(['threads', 'export', thread.id, '--remote', address]);
  expect(overWire).toMatchObject({ code: 0, stderr: '' });
  program.child.kill('SIGTERM');
  await program.ended;
  const file = join(scratch(), 'thread.jsonl');
  const written = await run(['threads', 'export', thread.id, '--data-dir', data, '-o', file]);
  expect(written).toMatchObject({ code: 0, stdout: '', stderr: '' });
  const [first, ...events] = protocolLines(overWire.stdout);
  const [own, ...ownEvents] = protocolLines(readFileSync(file, 'utf8'));
  expect([first, own]).toMatchObject([{ thread: { id: thread.id } }, { thread: { id: thread.id } }]);
  expect(events).toEqual(ownEvents);
  expect(events.filter(({ method }) => method === 'turn/completed')).toHaveLength(3);
  const again = await run(['threads', 'export', thread.id, '--data-dir', data, '-o', file]);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('exists: name another file') });
});

test('the doctor looks at another server from here', async () => {
  const data = scratch();
  const { address } = await serve(['--data-dir', data, '--listen', 'ws://127.0.0.1:0']);
  const token = readFileSync(join(data, 'ws-token'), 'utf8').trim();
  const doctor = async (TOKEN: string) => {
    const flags = ['--remote', address, '--remote-auth-token-env', 'TOKEN', '--json'];
    const { code, stdout } = await run(['doctor', ...flags], { environment: { TOKEN } });
    return { code, findings: (JSON.parse(stdout) as { state: string }[]).map(({ state }) => state) };
  };
  expect(await doctor(token)).toEqual({ code: 0, findings: ['good', 'good', 'good', 'good'] });
  expect(await doctor('wrong')).toEqual({ code: 1, findings: ['bad', 'good'] });
});

describe('on a terminal of 40 columns', () => {
  const NARROW = { columns: 40 };
  /** A word that is longer is not broken. */
  const isFit = (line: string): boolean => line.length <= 40 || !line.trim().includes(' ');

  async function shown(args: readonly string[], environment = {}): Promise<readonly string[]> {
    const terminal = new Terminal(args, { ...NARROW, environment });
    await terminal.ended;
    return terminal.text.replaceAll('\r', '').split('\n');
  }

  test.each([
    ...[['--help'], ['exec', '--help'], ['app-server', '--help'], ['attach', '--help'], ['completion', '--help']],
    ...[
      ['threads', 'list', '--help'],
      ['history', '--help'],
      ['config', 'get', '--help'],
    ],
  ])('heddle %s %s fits', async (...args) => {
    const lines = await shown(args.filter((each) => each !== undefined));
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.filter((line) => !isFit(line))).toEqual([]);
  });

  test('lists, questions, explanations and findings fit', async () => {
    const data = scratch();
    const { address } = await serve(['--data-dir', data, '--listen', 'unix://']);
    const client = await connect({ name: 'e2e', version: '1', url: address });
    const thread = await client.thread({ cwd: scratch() });
    await client.request('thread/name/set', { threadId: thread.id, name: `漢字 ${'a long name '.repeat(9)}` });
    const isAsked = new Promise<void>((resolve) => {
      client.onServerRequest('item/commandExecution/requestApproval', () => {
        resolve();
        return new Promise(() => {});
      });
    });
    await thread.turn('run! echo a command that is rather long for such a narrow terminal').started;
    await isAsked;
    for (const command of [
      ['threads', 'list'],
      ['approvals', 'list'],
      ['policy', 'explain', 'git push --force somewhere'],
      ['doctor'],
    ]) {
      const lines = await shown([...command, '--data-dir', data]);
      expect(lines.length).toBeGreaterThan(2);
      expect(lines.filter((line) => !isFit(line))).toEqual([]);
    }
    const [id, about] = await shown(['threads', 'list', '--data-dir', data]);
    expect(id).toBe(thread.id);
    expect(about).toMatch(/^ {2}\S+ \S+ {2}漢字 a lo.*… waits$/);
    await client.close();
  });

  test('colours are there, unless NO_COLOR is set', async () => {
    const environment = { TERM: 'xterm' };
    const data = ['--data-dir', scratch()];
    const colour = '\u001b[';
    expect((await shown(['doctor', ...data], environment)).join('')).toContain(colour);
    expect((await shown(['doctor', ...data], { ...environment, NO_COLOR: '1' })).join('')).not.toContain(colour);
    expect((await run(['doctor', ...data], { environment })).stdout).not.toContain(colour);
  });
});

test.each([
  ...[['--help'], ['completion', 'bash'], ['doctor'], ['app-server', 'status'], ['config', 'get']],
  ...[
    ['threads', 'list'],
    ['threads', 'list', '--json'],
    ['history', 'stats'],
    ['exec', '--backend', 'mock', 'say 9 words'],
  ],
  ...[['exec', '--backend', 'mock', '--json', 'say 5000 words at 100 a second']],
])('heddle %s %s …: a reader who leaves is no reason to say anything', async (...args) => {
  const data = scratch();
  await run(['exec', '--backend', 'mock', 'say hello', '--data-dir', data]);
  const words = args.filter((each) => each !== undefined);
  const isPlain = words[0] === '--help' || words[0] === 'completion';
  const program = new Program([...words, ...(isPlain ? [] : ['--data-dir', data])]);
  program.child.stdout.destroy();
  const { signal, stderr } = await program.ended;
  expect({ signal, stderr: stderr.replace(/^no backend is chosen.*\n.*\n/, '') }).toEqual({ signal: null, stderr: '' });
  expect(existsSync(join(data, 'owner.json'))).toBe(false);
});
