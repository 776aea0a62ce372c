// A working tree whose repository lies elsewhere: git tells of it where the repository may be seen, and else the folder itself does.

import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Principal } from '../../src/auth/principal.ts';
import { trySandbox } from '../harness/sandbox.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import { completed, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const REMOTE: Principal = {
  ...{ tenant: 'local', subject: 'someone', isLocal: false },
  permissions: new Set(['thread:read', 'thread:write', 'approval:resolve']),
};

const { isAvailable } = await trySandbox();
if (!isAvailable) console.warn('no sandbox holds here: the diff of a linked worktree is not tried');

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd, stdio: 'ignore' });

/** A working tree below a root; what its repository alone ignores is `*.log`. */
async function linkedTree(): Promise<{ root: string; tree: string }> {
  const folder = await temporaryFolder();
  const [main, root] = [join(folder, 'main'), join(folder, 'root')];
  for (const each of [main, root]) await mkdir(each);
  git(main, 'init', '-q');
  await writeFile(join(main, 'notes.txt'), 'one\n');
  git(main, 'add', '-A');
  git(main, 'commit', '-qm', 'first');
  await writeFile(join(main, '.git/info/exclude'), '*.log\n');
  const tree = join(root, 'tree');
  git(main, 'worktree', 'add', '-q', tree);
  return { root, tree };
}

const files = (diff: unknown) => String(diff).match(/^diff --git .*$/gm);

test.skipIf(!isAvailable)('outside of the roots of remote clients a repository has no say', async () => {
  const { root, tree } = await linkedTree();
  const server = await startApp({ config: { remote: { roots: [root], sandbox: 'workspace-write' } } });
  const told = async (who: 'local' | 'remote') => {
    const options = { experimentalApi: true };
    const client = await (who === 'local' ? server.connect(options) : server.connectAs(REMOTE, options));
    const threadId = await startThread(client, { cwd: tree, sandbox: 'workspace-write', approvalPolicy: 'on-request' });
    const turnId = await startTurn(client, threadId, `run echo ${who} >> notes.txt; echo ${who} > ${who}.log`);
    expect(await completed(client, turnId)).toMatchObject({ status: 'completed' });
    return files(client.news('turn/diff/updated').at(-1)?.diff);
  };
  expect(await told('local')).toEqual(['diff --git a/notes.txt b/notes.txt']);
  expect(await told('remote')).toEqual(['diff --git a/notes.txt b/notes.txt', 'diff --git a/remote.log b/remote.log']);
});
