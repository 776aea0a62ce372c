// Rules that hold in every shape of a command, and a rules file that cannot be read: told, and nothing runs for want of a rule.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';

afterEach(cleanUp);

const held = { sandbox: async () => ({ isAvailable: true, tool: { kind: 'bwrap', path: '/bin/false' } }) as const };
const FORBIDS_RM = 'prefix_rule(pattern=["rm"], decision="forbidden", justification="use git rm")\n';

async function rules({ dataDirectory }: RunningApp, text: string): Promise<string> {
  const file = join(dataDirectory, 'rules', 'default.rules');
  await mkdir(join(dataDirectory, 'rules'), { recursive: true });
  await writeFile(file, text);
  return file;
}

async function explaining(text: string) {
  const server = await startApp(held);
  const file = await rules(server, text);
  const client = await server.connect({ experimentalApi: true });
  const explain = (params: object) => client.request('policy/explain', { cwd: server.workspace, ...params });
  return { server, file, client, explain };
}

test('a forbidden command is refused in whatever shape it can be seen', async () => {
  const { explain } = await explaining(FORBIDS_RM);
  for (const command of [
    ...['rm x', '(rm x)', '! rm x', 'rm x &', 'rm x > /dev/null', 'x=1 rm x', 'if true; then rm x; fi'],
    ...['bash -lc "rm x"', 'env rm x', 'command rm x', 'sudo rm x', 'nohup rm x', 'time rm x', '/bin/rm x'],
    ...['ls | xargs rm', 'echo $(rm x)', 'r\\m x', 'eval rm x'],
  ])
    expect([command, await explain({ command })]).toMatchObject([
      command,
      { decision: 'deny', rule: 'a rule forbids this command: use git rm' },
    ]);
  expect(await explain({ command: 'echo rm x' })).toMatchObject({ decision: 'allow' });
});

test('an allowed command is allowed in its plain shape only', async () => {
  const { explain } = await explaining('prefix_rule(pattern=["make"], decision="allow")\n');
  const params = { escalate: true, approvalPolicy: 'on-request', sandbox: 'workspace-write' };
  expect(await explain({ ...params, command: 'make x' })).toMatchObject({ decision: 'allow', runs: 'bare' });
  for (const command of ['(make x)', 'make x > y', 'A=1 make x', 'sudo make x', '/bin/make x', 'bash -c "make x"'])
    expect([command, await explain({ ...params, command })]).toMatchObject([command, { decision: 'ask' }]);
});

describe('a file that cannot be read', () => {
  const BROKEN = `${FORBIDS_RM}prefix_rule(pattern=["make"], decision="allow")\nprefix_rule(pattern=["mv"], decision="forbiden")\n`;

  test('allows nothing, and what is not known to be safe is asked about or refused', async () => {
    const { file, explain } = await explaining(BROKEN);
    const on = { approvalPolicy: 'on-request', sandbox: 'workspace-write' };
    const never = { approvalPolicy: 'never', sandboxPolicy: { type: 'dangerFullAccess' } };
    const rule = expect.stringMatching(/rules file cannot be read/);
    const command = { unreadRules: [expect.stringContaining(`${file}:3:38: unknown decision "forbiden"`)] };
    expect(await explain({ ...on, command: 'mv a b' })).toMatchObject({ decision: 'ask', rule, command });
    expect(await explain({ ...on, command: 'make' })).toMatchObject({ decision: 'ask', rule });
    expect(await explain({ ...never, command: 'mv a b' })).toMatchObject({ decision: 'deny', rule });
    expect(await explain({ ...on, command: 'rm x' })).toMatchObject({ decision: 'deny' });
    expect(await explain({ ...on, command: 'ls -l' })).toMatchObject({ decision: 'allow', command });
    await writeFile(file, FORBIDS_RM);
    expect(await explain({ ...on, command: 'mv a b' })).toMatchObject({
      ...{ decision: 'allow', command: { unreadRules: [] } },
    });
  });

  test('is told to every client, with the place, and again when something else is wrong', async () => {
    const { server, file, client } = await explaining(BROKEN);
    const place = (line: number) => ({ path: file, range: { start: { line }, end: { line } } });
    const at = (line: number) =>
      client.notified('configWarning', ({ path, range }) => path === file && range?.start.line === line);
    expect(await at(3)).toMatchObject({ ...place(3), details: expect.stringContaining(`${file}:3:38: `) });
    const later = await server.connect();
    expect(await later.notified('configWarning')).toMatchObject(place(3));
    await writeFile(file, `\n\n\n\n${BROKEN}`);
    await at(7);
    await later.settled();
    expect(client.news('configWarning').filter(({ range }) => range.start.line === 3)).toHaveLength(1);
  });
});
