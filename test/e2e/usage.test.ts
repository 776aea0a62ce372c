// Wrong flags: each ends with its code, says what to type instead, starts nothing and prints nothing on standard output.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, scratch } from './executable.ts';

const USAGE: readonly (readonly [readonly string[], RegExp])[] = [
  [[], /no command was given/],
  [['-v'], /unknown flag `-v`/],
  [['serve'], /unknown/i],
  [['app-server', 'extra'], /unknown/i],
  [['app-server', '--lisen', 'off'], /unknown flag `--lisen`/],
  [['app-server', '--backend'], /`--backend` needs a value/],
  [['app-server', '--backend', 'gpt'], /choose `runtime`, `mock` or `unavailable`/],
  [['app-server', '--backend', 'external'], /`external` is not available; choose/],
  [['app-server', '--backend', 'mock', '--backend', 'mock'], /given 2 times; give it once/],
  [['app-server', '--listen', 'http://127.0.0.1:1'], /expected `stdio:\/\/`/],
  [['app-server', '--listen', 'ws://localhost:1'], /an IP address, not a host name/],
  [['app-server', '--listen', 'ws://127.0.0.1:65536'], /a port is at most 65535/],
  [['app-server', '--listen', 'unix://relative'], /three slashes/],
  [['app-server', '--listen', 'off', '--stdio'], /stands alone/],
  [['app-server', '--stdio', '--listen', 'stdio://'], /given twice/],
  [['app-server', '-c', 'no-value'], /expected key=value/],
  [['app-server', '--app-server-queue-cap', '0'], /type at least 1/],
  [['app-server', '--app-server-queue-cap', 'many'], /not a whole number/],
  [['-c', 'backend=5', 'app-server'], /backend/],
  [['app-server', '--ws-auth', 'none'], /add `--listen ws:/],
  [['app-server', '--allow-origin', 'https://app.example'], /add `--listen ws:/],
  [['app-server', '--listen', 'ws://127.0.0.1:0', '--ws-auth', 'basic'], /expected one of capability-token/],
  [['app-server', '--listen', 'ws://127.0.0.1:0', '--ws-auth', 'capability-token'], /is required/],
  [['app-server', '--listen', 'ws://127.0.0.1:0', '--ws-token-file', 'token'], /must be an absolute path/],
  [['app-server', '--listen', 'ws://127.0.0.1:0', '--ws-max-clock-skew-seconds', 'x'], /not a whole number/],
  [['app-server', '--listen', 'ws://127.0.0.1:0', '--allow-origin', '*'], /expected a whole origin/],
  [['app-server', '--listen', 'ws://127.0.0.1:0', '--ws-scopes', 'all'], /known are thread:read/],
  [['token', 'sign', '--secret-file', '/none', '--sub', 'x', '--expires', 'soon'], /such as 30m/],
  [['token', 'sign', '--sub', 'x'], /--secret-file PATH/],
  [['history'], /heddle history verify/],
  [['exc'], /unknown command `exc`; did you mean `exec`/],
  [['history', 'foo'], /unknown command `history foo`/],
  [['schema'], /`heddle schema json\|ts\|openrpc --out DIR`/],
  [['schema', 'xml'], /unknown command `schema xml`/],
  [['schema', 'json'], /say where: --out DIR/],
  [['history', 'export'], /THREAD is missing/],
  [['config', 'set', 'model'], /VALUE is missing/],
  [['app-server', 'daemon'], /COMMAND is missing; choose start, stop, restart or status/],
  [['doctor', 'extra'], /unknown argument `extra`/],
  [['app-server', '--listen'], /`--listen` needs a value/],
  [['app-server', '--data-dir', ''], /`--data-dir` is empty/],
  [['exec', 'say', 'hello'], /put it in quotation marks/],
  [['exec', '--no-such', 'say hello'], /unknown flag `--no-such`/],
  [['exec', 'say hello', '--bad=x'], /unknown flag `--bad`/],
  [['exec'], /the prompt is empty/],
  [['exec', ' '], /the prompt is empty/],
  [['exec', 'x', '--cd', '/nowhere/at/all'], /is no folder/],
  [['exec', 'x', '--approvals', 'always'], /choose `ask` or `decline`/],
  [['exec', 'x', '--approvals', 'ask'], /needs a terminal/],
  [['exec', 'x', '--remote-auth-token-env', 'TOKEN'], /`--remote URL`/],
  [['exec', 'x', '--remote', 'tcp://127.0.0.1:1'], /expected `unix:/],
  [['exec', 'x', '--remote', 'here'], /expected `unix:/],
];

test.each(USAGE)('heddle %j: code 2', async (args, message) => {
  const home = scratch();
  const { code, stdout, stderr } = await run(args, { environment: { HEDDLE_HOME: join(home, 'data') } });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/\ntry: heddle .*--help\n$/);
  expect(stderr).not.toMatch(/^\s+at /m);
});

test('a listener that would not be safe does not start: code 1', async () => {
  const { code, stderr } = await run(['app-server', '--listen', 'ws://0.0.0.0:0', '--data-dir', scratch()]);
  expect(code).toBe(1);
  expect(stderr).toContain('refusing to start');
});

test('a token is not sent in plain text to another machine: code 2, and nothing is sent', async () => {
  const environment = { TOKEN: 'secret-token' };
  const args = ['exec', 'x', '--remote', 'ws://192.0.2.1:1', '--remote-auth-token-env', 'TOKEN'];
  const { code, stderr } = await run(args, { environment });
  expect(code).toBe(2);
  expect(stderr).toContain('use `wss://`');
  expect(stderr).not.toContain('secret-token');
});

test('the data directory that cannot be made is named: code 1', async () => {
  const file = join(scratch(), 'a-file');
  writeFileSync(file, '');
  const { code, stderr } = await run(['app-server', '--data-dir', join(file, 'data')]);
  expect(code).toBe(1);
  expect(stderr).toContain('the data directory');
});

test.skipIf(process.platform !== 'linux')(
  'a data directory where nothing can be made is refused, not tried for ever',
  async () => {
    const { code, stderr } = await run(['app-server', '--data-dir', '/proc/heddle/data']);
    expect(code).toBe(1);
    expect(stderr).toContain('the data directory /proc/heddle/data cannot be used');
  },
);

test('a configuration that cannot be used is said with its place, not taken for none', async () => {
  const data = scratch();
  writeFileSync(join(data, 'config.yaml'), 'backend: mock\nsandbox_mode: [\n');
  const { code, stderr } = await run(['exec', 'say hello', '--data-dir', data]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/the configuration cannot be used.*config\.yaml:\d+:\d+: /);
  expect(stderr).not.toContain('no backend is chosen');
});

test.each([
  ['get', 'model'],
  ['set', 'model', 'x'],
])('nor is it a matter of flags for heddle config %s', async (...args) => {
  const data = scratch();
  writeFileSync(join(data, 'config.yaml'), 'backend: mock\nsandbox_mode: [\n');
  const { code, stdout, stderr } = await run(['config', ...args, '--data-dir', data]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^heddle: failed to load configuration: .*config\.yaml:\d+:\d+: .*\n$/);
});

test('a configuration file that cannot be read is said with what it is', async () => {
  const data = scratch();
  mkdirSync(join(data, 'config.yaml'));
  const { code, stderr } = await run(['exec', 'say hello', '--data-dir', data]);
  expect(code).toBe(1);
  expect(stderr).toContain('the file cannot be read: it is a folder; put a file in its place');
});

const LOCAL = { base_url: 'http://127.0.0.1:9/v1', wire_api: 'chat', env_key: 'NO_SUCH_KEY' };

test.each([
  ['local', /the environment variable NO_SUCH_KEY, .* or leave `env_key` out of the configuration/],
  ['anthropic', /the environment variable ANTHROPIC_API_KEY, .* or choose another `model_provider`/],
  ['absent', /Model provider `absent` not found; add it to model_providers in config\.yaml/],
])('the provider %s is not asked without its key and its entry, and what is missing is named', async (id, said) => {
  const data = scratch();
  const settings = { backend: 'runtime', model: 'm', model_provider: id, model_providers: { local: LOCAL } };
  writeFileSync(join(data, 'config.yaml'), JSON.stringify(settings));
  const { code, stderr } = await run(['exec', 'say hello', '--data-dir', data]);
  expect(code).toBe(1);
  expect(stderr).toMatch(said);
});

test('a thread that is not there is said with where to look', async () => {
  const { code, stderr } = await run(['exec', 'x', '--thread', 'none', '--backend', 'mock', '--data-dir', scratch()]);
  expect(code).toBe(1);
  expect(stderr).toBe('thread not found: none; `heddle threads list` shows those that there are\n');
});

test('help and version are there, and start nothing', async () => {
  const home = scratch();
  const environment = { HEDDLE_HOME: join(home, 'data') };
  for (const args of [
    ['--help'],
    ['app-server', '--help'],
    ['app-server', 'status', '--help'],
    ['exec', '-h'],
    ['token', 'sign', '--help'],
    ['history', 'verify', '--help'],
  ]) {
    const { code, stdout, stderr } = await run(args, { environment });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Options:');
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  }
  expect(await run(['--version'], { environment })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  });
  expect(readdirSync(home)).toEqual([]);
});

test.each([
  ['no backend', '', /no backend is chosen/g],
  ['a configuration that cannot be used', 'backend: 5\n', /config\.yaml:\d+:\d+: /g],
])('a turn with %s is not begun, and why is said once', async (_, config, sentence) => {
  const data = scratch();
  if (config !== '') writeFileSync(join(data, 'config.yaml'), config);
  const { code, stdout, stderr } = await run(['exec', '--json', 'say hello', '--data-dir', data]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect([...stderr.matchAll(sentence)]).toHaveLength(1);
  expect(stderr).not.toMatch(/failed/);
  expect((await run(['threads', 'list', '--data-dir', data])).stdout).not.toContain('say hello');
});

test.each([[['app-server']], [['exec', 'say hello']], [['doctor']], [['threads', 'list']]])(
  'a variable with a value that means nothing is refused by heddle %j',
  async (args) => {
    const data = join(scratch(), 'data');
    const options = { environment: { HEDDLE_LOG: 'nonsense' } };
    const { code, stdout, stderr } = await run([...args, '--data-dir', data], options);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^heddle: `HEDDLE_LOG=nonsense` means nothing; choose trace, .*\ntry: heddle /);
  },
);
