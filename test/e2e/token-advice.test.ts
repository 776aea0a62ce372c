// A server that wants a token and was offered none, or another: each command says which one and where it comes from, never the token.

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, scratch, serve } from './executable.ts';

const SECRET = 'a shared secret of more than thirty-two bytes';
const TOKEN = 'a-token-that-nobody-should-see';

async function server(flags: (folder: string) => readonly string[]): Promise<{ data: string; address: string }> {
  const data = scratch();
  const { address } = await serve(['--listen', 'ws://127.0.0.1:0', '--data-dir', data, ...flags(scratch())]);
  return { data, address };
}

const signed = (folder: string) => {
  const file = join(folder, 'secret');
  writeFileSync(file, SECRET, { mode: 0o600 });
  return ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', file];
};
const digest = () => {
  const sha256 = createHash('sha256').update(TOKEN).digest('hex');
  return ['--ws-auth', 'capability-token', '--ws-token-sha256', sha256];
};

const COMMANDS: readonly (readonly string[])[] = [
  ['exec', 'say hello'],
  ['threads', 'list'],
  ['approvals', 'list'],
  ['attach', '01900000-0000-7000-8000-000000000000'],
  ['policy', 'explain', 'ls'],
];

test.each([
  ['signed tokens', signed, /heddle token sign --secret-file FILE --sub NAME/],
  ['a digest of its token', digest, /capability token: .* only its operator has it/],
])('a server with %s: what to type, from every command', async (_, flags, where) => {
  const { data, address } = await server(flags);
  for (const command of COMMANDS) {
    const found = await run([...command, '--data-dir', data]);
    expect(found.code, command.join(' ')).toBe(4);
    expect(found.stderr).toMatch(where);
    expect(found.stderr).toContain(`--remote ${address} --remote-auth-token-env VAR`);
    expect(found.stderr).toContain('--listen unix://');
  }
  const wrong = await run(['threads', 'list', '--remote', address, '--remote-auth-token-env', 'MINE'], {
    environment: { MINE: `${TOKEN}-not` },
  });
  expect(wrong.code).toBe(4);
  expect(wrong.stderr).toMatch(where);
  expect(wrong.stderr).toMatch(/the one in MINE is another one, or its time is over/);
  expect(wrong.stderr).not.toContain(TOKEN);
  expect(wrong.stderr).not.toContain(SECRET);
});

test('a server on this machine says where its token is, and no more is to be known', async () => {
  const { data, address } = await server(() => []);
  const { code, stderr } = await run(['exec', 'say hello', '--remote', address]);
  expect(code).toBe(4);
  expect(stderr).toContain(`export VAR=$(cat ${join(data, 'ws-token')})`);
  expect(stderr).toContain(`--remote ${address} --remote-auth-token-env VAR`);
  expect(stderr).not.toContain('--ws-token-file');
});

test('a signed token that is refused for a reason that is told gets no other one', async () => {
  const folder = scratch();
  const { address } = await server(() => [...signed(folder), '--ws-issuer', 'https://id.example']);
  const sign = ['token', 'sign', '--secret-file', join(folder, 'secret'), '--sub', 'ana'];
  const { stdout } = await run(sign);
  const environment = { MINE: stdout.trim() };
  const list = ['threads', 'list', '--remote', address, '--remote-auth-token-env', 'MINE'];
  const { code, stderr } = await run(list, { environment });
  expect(code).toBe(4);
  expect(stderr).toContain('issuer mismatch');
  expect(stderr).toContain('give --issuer and --audience too');
  expect(stderr).not.toContain('another one');
});

test('a token that lacks a permission: which one, and where it would come from', async () => {
  const folder = scratch();
  const { address } = await server(() => signed(folder));
  const sign = ['token', 'sign', '--secret-file', join(folder, 'secret'), '--sub', 'ana', '--scope', 'thread:read'];
  const { stdout } = await run(sign);
  const environment = { MINE: stdout.trim() };
  const turn = ['exec', 'say hello', '--remote', address, '--remote-auth-token-env', 'MINE'];
  const { code, stderr } = await run(turn, { environment });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^thread\/start needs the permission thread:write; a token gives it .*`--scope`/);
});

test('what is advised works: a token that was signed so is taken', async () => {
  const folder = scratch();
  const { address } = await server(() => signed(folder));
  const token = await run([
    'token',
    'sign',
    '--secret-file',
    join(folder, 'secret'),
    '--sub',
    'ana',
    '--scope',
    'thread:read',
  ]);
  const listed = await run(['threads', 'list', '--remote', address, '--remote-auth-token-env', 'MINE'], {
    environment: { MINE: token.stdout.trim() },
  });
  expect(listed).toMatchObject({ code: 0, stdout: 'there is no thread yet\n' });
});
