// What the rules say of a command or of files: the same as what then happens, and nothing happens by asking.

import { mkdir, readdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { localPrincipal } from '../../src/auth/principal.ts';
import { askedTurn } from '../harness/approvals.ts';
import { cleanUp, type RunningApp, startApp, temporaryFolder } from '../harness/start-app.ts';
import { completed, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const CAPABLE = { experimentalApi: true };
const held = { sandbox: async () => ({ isAvailable: true, tool: { kind: 'bwrap', path: '/bin/false' } }) as const };
const none = { sandbox: async () => ({ isAvailable: false, reason: 'none', advice: 'none' }) as const };

async function explaining(options: Parameters<typeof startApp>[0] = held) {
  const server = await startApp(options);
  const client = await server.connect(CAPABLE);
  const explain = (params: object) => client.request('policy/explain', { cwd: server.workspace, ...params });
  return { server, client, explain };
}

const rules = async ({ dataDirectory }: RunningApp, ...lines: string[]) => {
  await mkdir(join(dataDirectory, 'rules'), { recursive: true });
  await writeFile(join(dataDirectory, 'rules', 'default.rules'), lines.join('\n'));
};

describe('a command', () => {
  test.each<[object, string]>([
    [{ approvalPolicy: 'on-request', sandbox: 'workspace-write' }, 'allow sandboxed'],
    [{ approvalPolicy: 'on-request', sandbox: 'workspace-write', escalate: true }, 'ask bare'],
    [{ approvalPolicy: 'never', sandbox: 'read-only', escalate: true }, 'deny bare'],
    [{ approvalPolicy: 'untrusted', sandbox: 'read-only' }, 'ask sandboxed'],
    [{ approvalPolicy: 'never', sandboxPolicy: { type: 'dangerFullAccess' } }, 'allow bare'],
  ])('under %j: %s', async (params, verdict) => {
    const { explain } = await explaining();
    const said = await explain({ command: 'npm test', ...params });
    expect(`${said.decision} ${said.runs}`).toBe(verdict);
    expect(said.explanation).toContain(said.rule);
    expect(said.command).toMatchObject({ prefix: ['npm', 'test'], onlyReads: false });
  });

  test('on a host without a sandbox says so', async () => {
    const { explain } = await explaining(none);
    const said = await explain({ command: 'ls', sandbox: 'read-only', approvalPolicy: 'on-request' });
    expect(said).toMatchObject({ decision: 'ask', runs: 'unavailable', rule: 'this host has no sandbox' });
  });

  test.each<[string, boolean]>([
    ['ls -l', true],
    ['cat a | head -3 && git branch --show-current', true],
    ['cat a > b', false],
    ['ls; rm x', false],
    ['echo $(rm x)', false],
    ['find . -delete', false],
    ['cat a & rm b', false],
    ['VAR=1 ls', false],
  ])('of which the line is read as a shell reads it: %s only reads: %s', async (command, onlyReads) => {
    const { explain } = await explaining();
    expect((await explain({ command })).command.onlyReads).toBe(onlyReads);
  });

  test('that a rule asks about or forbids', async () => {
    const { server, explain } = await explaining();
    await rules(
      server,
      'prefix_rule(pattern=["git", "push"], decision="prompt")',
      'prefix_rule(pattern=["rm"], decision="forbidden")',
    );
    expect(await explain({ command: 'ls && git push -f' })).toMatchObject({
      decision: 'ask',
      rule: expect.stringMatching(/a rule asks/),
    });
    expect(await explain({ command: 'git push', approvalPolicy: 'never' })).toMatchObject({ decision: 'deny' });
    expect(await explain({ command: 'ls | rm x' })).toMatchObject({
      decision: 'deny',
      rule: 'a rule forbids this command',
    });
  });

  test('of a thread counts what was accepted in it', async () => {
    const { server, client, explain } = await explaining();
    const turn = await askedTurn(server, client);
    turn.question.answer({ decision: 'acceptForSession' });
    await completed(client, turn.turnId);
    const command = `echo ran >> ${join(server.workspace, `mark-${turn.threadId}`)}`;
    const params = { threadId: turn.threadId, cwd: null, escalate: true };
    expect(await explain({ ...params, command })).toMatchObject({
      decision: 'allow',
      rule: expect.stringMatching(/accepted before/),
    });
    expect(await explain({ ...params, command: `${command}2` })).toMatchObject({ decision: 'ask' });
    expect(await turn.runs()).toBe(1);
  });
});

describe('files', () => {
  test('are told where they lie', async () => {
    const { server, explain } = await explaining();
    const outside = await temporaryFolder();
    const params = { sandbox: 'workspace-write', approvalPolicy: 'on-request' };
    expect(await explain({ ...params, files: ['a.txt'] })).toMatchObject({
      ...{ decision: 'allow', runs: 'sandboxed' },
      files: [{ path: join(server.workspace, 'a.txt'), standing: 'workspace' }],
    });
    expect(await explain({ ...params, files: ['a.txt', join(outside, 'b')] })).toMatchObject({
      ...{ decision: 'ask', runs: 'bare' },
      files: [{ standing: 'workspace' }, { standing: 'outside' }],
    });
    expect(await explain({ ...params, files: [join(server.dataDirectory, 'x')] })).toMatchObject({
      ...{ decision: 'deny' },
      files: [{ standing: 'hidden' }],
    });
    expect(await readdir(server.workspace)).toEqual([]);
  });
});

test.each<[string, object]>([
  ['neither a command nor files', {}],
  ['both', { command: 'ls', files: ['a'] }],
  ['no command', { command: '' }],
])('%s is no question', async (_, params) => {
  const { client } = await explaining();
  expect(await client.refusal('policy/explain', params)).toMatchObject({ code: -32602 });
});

test('a thread of others is none', async () => {
  const { server, client } = await explaining();
  const threadId = await startThread(client);
  const stranger = await server.connectAs({ ...localPrincipal, tenant: 'other' }, CAPABLE);
  expect(await stranger.refusal('policy/explain', { threadId, command: 'ls' })).toMatchObject({ code: -32004 });
});

test('remote clients learn nothing of files beyond their roots', async () => {
  const roots = [await realpath(await temporaryFolder())];
  const { server, client } = await explaining({ ...held, config: { remote: { roots } } });
  const threadId = await startThread(client);
  const link = join(server.workspace, 'link');
  await symlink('/etc/hostname', link);
  const remote = await server.connectAs({ ...localPrincipal, subject: 'far', isLocal: false }, CAPABLE);
  const refusal = await remote.refusal('policy/explain', { threadId, files: [link] });
  expect(refusal.data.kind).toBe('forbidden');
  expect(refusal.message).not.toContain('hostname');
  const { files } = await remote.request('policy/explain', { threadId, files: [join(roots[0]!, 'new')] });
  expect(files).toEqual([{ path: join(roots[0]!, 'new'), standing: 'hidden' }]);
});
