// One server in the background: started once, reached by its socket, asked whether it lives, ended with its turns settled.

import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { readOwner } from '../../src/history/owner.ts';
import { DROP_IN, INITIALIZE, Program, protocolLines, type Run, run, scratch, serve } from './executable.ts';

const directories: string[] = [];

/** Ends what a failed test leaves. */
afterEach(async () => {
  for (const directory of directories.splice(0)) await daemon('stop', directory);
});

function directory(): string {
  const made = scratch();
  directories.push(made);
  return made;
}

const daemon = (command: string, data: string, ...more: readonly string[]): Promise<Run> =>
  run(['app-server', 'daemon', command, '--data-dir', data, ...more]);

const pidOf = async (data: string): Promise<number> => (await readOwner(data))?.pid as number;

const initialize = `${JSON.stringify(INITIALIZE)}\n`;

test('it is started once, tells its log, answers through the proxy, and is stopped', async () => {
  const data = directory();
  const started = await daemon('start', data, '--backend', 'mock', '-c', 'model=loom');
  expect(started).toMatchObject({ code: 0, stderr: '' });
  const pid = await pidOf(data);
  expect(started.stdout).toContain(`started: pid ${pid}`);
  expect(statSync(join(data, 'app-server.log')).mode & 0o777).toBe(0o600);
  expect((await daemon('start', data)).stdout).toContain(`runs already: pid ${pid}`);
  expect((await daemon('status', data)).stdout).toContain('answers');
  const config = `${JSON.stringify({ id: 2, method: 'config/read', params: {} })}\n`;
  const proxied = await run(['app-server', 'proxy', '--data-dir', data], { input: `${initialize}${config}` });
  expect(proxied).toMatchObject({ code: 0, stderr: '' });
  expect(protocolLines(proxied.stdout)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id: 'init' }),
      expect.objectContaining({
        id: 2,
        result: expect.objectContaining({ config: expect.objectContaining({ model: 'loom' }) }),
      }),
    ]),
  );
  expect((await daemon('stop', data)).stdout).toBe(`stopped: pid ${pid}\n`);
  expect(readFileSync(join(data, 'app-server.log'), 'utf8')).toContain('heddle app-server stops: received SIGTERM');
  expect((await daemon('status', data)).code).toBe(1);
  expect(await daemon('stop', data)).toMatchObject({ code: 0, stdout: `no server runs on ${data}\n` });
});

test('what a killed server left behind blocks nothing', async () => {
  const data = directory();
  await daemon('start', data, '--backend', 'mock');
  const pid = await pidOf(data);
  const gone = run(['app-server', 'proxy', '--data-dir', data]);
  process.kill(pid, 'SIGKILL');
  await gone;
  expect(existsSync(join(data, 'owner.json'))).toBe(true);
  const again = await daemon('start', data, '--backend', 'mock');
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(await pidOf(data)).not.toBe(pid);
});

test('what a new server says of its settings, and that a running one keeps its own, is told at once', async () => {
  const data = directory();
  const started = await daemon('start', data);
  expect(started).toMatchObject({ code: 0, stdout: expect.stringMatching(/^started: /) });
  expect(started.stderr).toMatch(/^no backend is chosen, .*\n.*config\.yaml\n$/);
  const again = await daemon('start', data, '--backend', 'mock');
  expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^runs already: /) });
  expect(again.stderr).toContain('its settings count');
});

test('whoever comes with the settings that the server has is told nothing of them', async () => {
  const data = directory();
  const settings = ['--backend', 'mock', '-c', 'busy_turn_start=steer'];
  await daemon('start', data, ...settings);
  expect(await daemon('start', data, ...settings)).toMatchObject({ code: 0, stderr: '' });
  const shared = (...flags: readonly string[]) =>
    run(['app-server', '--shared', ...flags, '--data-dir', data], { input: initialize });
  expect(await shared(...settings)).toMatchObject({ code: 0, stderr: '' });
  expect((await shared('--backend', 'runtime')).stderr).toContain(
    'its settings count, not --backend runtime (there it is mock)',
  );
  expect(await shared()).toMatchObject({ code: 0, stderr: '' });
  const exec = (...flags: readonly string[]) => run(['exec', 'say one', ...flags, '--data-dir', data]);
  expect(await exec(...settings)).toMatchObject({ code: 0, stderr: '' });
  expect((await exec('--backend', 'runtime')).stderr).toContain('its backend and settings count');
});

test('a server that cannot start is told with its own words', async () => {
  const data = directory();
  const refused = await daemon('start', data, '-c', 'backend=loom');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/did not start; it said:\n.*unknown variant `loom`/s);
});

test('a server that belongs to its client is neither stopped nor taken for one to share', async () => {
  const data = directory();
  const { program } = await serve(['--listen', 'unix://', '--stdio', '--data-dir', data]);
  expect(await daemon('stop', data)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('belongs to the program'),
  });
  program.child.kill('SIGTERM');
  await program.ended;
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'a client that ends the stand-in with %s ends its own part of the server, cleanly',
  async (signal) => {
    const data = directory();
    await daemon('start', data, '--backend', 'mock');
    const program = new Program(['app-server'], { executable: DROP_IN, environment: { HEDDLE_HOME: data } });
    program.write(INITIALIZE);
    await program.said('stdout', /"id":"init"/);
    program.child.kill(signal);
    expect(await program.ended).toMatchObject({ code: 0, signal: null });
    expect((await daemon('status', data)).stdout).toContain('answers');
  },
);

test('without a server the proxy says how to start one', async () => {
  const { code, stderr, stdout } = await run(['app-server', 'proxy', '--data-dir', scratch()]);
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
  expect(stderr).toContain('heddle app-server daemon start');
});

test('the stand-in says the version whose protocol this is, and what it is not', async () => {
  const executable = DROP_IN;
  for (const flag of ['--version', '-V'])
    expect(await run([flag], { executable })).toMatchObject({ code: 0, stdout: 'codex-cli 0.171.0\n', stderr: '' });
  expect(await run(['app-server', '--help'], { executable })).toMatchObject({ code: 0, stderr: '' });
  expect(await run(['login'], { executable })).toMatchObject({ code: 2, stdout: '' });
});

const config = `${JSON.stringify({ id: 2, method: 'config/read', params: {} })}\n`;

test('the stand-in serves its client on the runtime backend, with settings before and after the command', async () => {
  const data = directory();
  writeFileSync(join(data, 'config.yaml'), 'model: from-file\n');
  const args = ['-c', 'model="first"', 'app-server', '--listen', 'stdio://', '--config=model_provider=loom'];
  const ended = await run([...args, '--enable', 'threads', '--analytics-default-enabled'], {
    executable: DROP_IN,
    environment: { HEDDLE_HOME: data },
    input: `${initialize}${config}`,
  });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  const answer = protocolLines(ended.stdout).find((line) => line.id === 2);
  expect(answer).toMatchObject({
    result: { config: { model: 'first', model_provider: 'loom', backend: 'runtime', busy_turn_start: 'steer' } },
  });
});

test('clients of the stand-in that share a server keep what their own command lines say', async () => {
  const data = directory();
  const started = (policy: string, sandbox: string, ...more: readonly string[]) =>
    run(['app-server', '-c', `approval_policy="${policy}"`, '-c', `sandbox_mode="${sandbox}"`, ...more], {
      executable: DROP_IN,
      environment: { HEDDLE_HOME: data },
      input: `${initialize}${JSON.stringify({ id: 2, method: 'thread/start', params: {} })}\n`,
    });
  const threadOf = ({ stdout }: Run) => protocolLines(stdout).find(({ id }) => id === 2);
  const wide = await started('never', 'danger-full-access');
  expect(wide).toMatchObject({ code: 0, stderr: '' });
  expect(threadOf(wide)).toMatchObject({ result: { approvalPolicy: 'never', sandbox: { type: 'dangerFullAccess' } } });
  const narrow = await started('untrusted', 'read-only', '-c', 'budgets.turn_tokens=5');
  expect(narrow).toMatchObject({ code: 0, stderr: expect.stringContaining('`-c budgets.turn_tokens`') });
  expect(threadOf(narrow)).toMatchObject({ result: { approvalPolicy: 'untrusted', sandbox: { type: 'readOnly' } } });
  const plain = await run(['app-server', 'proxy'], {
    executable: DROP_IN,
    environment: { HEDDLE_HOME: data },
    input: `${initialize}${JSON.stringify({ id: 2, method: 'thread/start', params: {} })}\n`,
  });
  expect(threadOf(plain)).toMatchObject({ result: { approvalPolicy: 'on-request', sandbox: { type: 'readOnly' } } });
});

test('clients of the stand-in share one server, each in its own folder, and it outlives them', async () => {
  const data = directory();
  const options = { executable: DROP_IN, environment: { HEDDLE_HOME: data } };
  const folders = [scratch(), scratch()];
  // At once: whoever comes second finds the server of the first, or one that has not said yet where it is.
  const clients = folders.map((cwd) => new Program(['app-server'], { ...options, cwd }));
  for (const client of clients) {
    client.write(INITIALIZE, { id: 2, method: 'thread/start', params: {} });
    client.child.stdin.end();
  }
  const cwds = await Promise.all(
    clients.map(async (client) => {
      const ended = await client.ended;
      expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('another server') });
      const answer = protocolLines(ended.stdout).find((line) => line.id === 2) as { result: { cwd: string } };
      return answer.result.cwd;
    }),
  );
  expect(cwds).toEqual(folders);
  expect((await daemon('status', data)).code).toBe(0);
});

test('a client that shares a server sees its end as the end of its own', async () => {
  const data = directory();
  const client = new Program(['app-server', '--shared', '--backend', 'mock', '--data-dir', data]);
  client.write(INITIALIZE);
  await client.said('stdout', /"id":"init"/);
  await daemon('stop', data);
  expect((await client.ended).code).toBe(0);
});

test('a server in the background ends when no client and no work is left', async () => {
  const data = directory();
  const { program, address } = await serve(['--listen', 'unix://', '--end-when-idle', '0', '--data-dir', data]);
  const [proxied] = await Promise.all([
    run(['app-server', 'proxy', '--sock', address.slice('unix://'.length)], { input: initialize }),
    program.ended,
  ]);
  expect((await program.ended).stderr).toContain('nobody has needed it for a while');
  expect([0, 4]).toContain(proxied.code);
});

test('a client whose server is killed is told so', async () => {
  const data = directory();
  await daemon('start', data, '--backend', 'mock');
  const client = new Program(['app-server', 'proxy', '--data-dir', data]);
  client.write(INITIALIZE);
  await client.said('stdout', /"id":"init"/);
  process.kill(await pidOf(data), 'SIGKILL');
  expect((await client.ended).stderr).toBe('heddle: the server has ended the connection\n');
});
