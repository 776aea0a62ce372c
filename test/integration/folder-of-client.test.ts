// A client that says where it stands: relative folders of whatever it asks for begin there, those of remote clients do not.

import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';

afterEach(cleanUp);

test('every method reads relative folders from there', async () => {
  const server = await startApp();
  const home = await realpath(await temporaryFolder());
  const sub = join(home, 'sub');
  await mkdir(sub);
  const client = await server.connect({ experimentalApi: true, cwd: home });
  const { thread, cwd } = await client.request('thread/start', {});
  expect(cwd).toBe(home);
  const { id: threadId } = thread;
  expect((await client.request('thread/start', { cwd: 'sub' })).cwd).toBe(sub);
  expect((await client.request('thread/fork', { threadId, cwd: 'sub', ephemeral: true, excludeTurns: true })).cwd).toBe(
    sub,
  );
  expect((await client.request('policy/explain', { command: 'true', cwd: 'sub' })).cwd).toBe(sub);
  expect((await client.request('policy/explain', { command: 'true' })).cwd).toBe(home);
  expect(Object.keys((await client.request('config/read', { cwd: 'sub' })).config.projects)).toEqual([sub]);
  expect((await client.request('skills/list', {})).data).toMatchObject([{ cwd: home }]);
  expect((await client.request('hooks/list', { cwds: ['sub'] })).data).toMatchObject([{ cwd: sub }]);
  await client.request('thread/settings/update', { threadId, cwd: 'sub' });
  expect((await client.request('thread/resume', { threadId })).cwd).toBe(sub);
});
