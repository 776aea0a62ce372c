// Named pipes in the place of ignore files: who reads one of the folder is let go, and no other program's pipe is touched.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { mkdir, mkdtemp, open, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { relieve } from '../../../src/fs/ignore-pipes.ts';

function reading(path: string) {
  const child = spawn('cat', [path], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill());
  return child;
}

test('a link out of the folder leads to no pipe that is opened', async () => {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'heddle-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const root = join(folder, 'root');
  await mkdir(root);
  execFileSync('mkfifo', [join(folder, 'others'), join(root, 'own')]);
  await symlink('../others', join(root, '.gitignore'));
  await symlink('own', join(root, '.ignore'));
  const other = reading(join(folder, 'others'));
  const said = text(other.stdout);
  const over = new AbortController();
  let relief: Promise<void> | undefined;
  // A second time: by then all that was found has been gone through once.
  for (let round = 0; round < 2; round += 1) {
    const own = reading(join(root, '.ignore'));
    const ended = once(own, 'exit');
    relief ??= relieve(root, own.pid ?? 0, over.signal);
    await ended;
  }
  over.abort();
  await relief;
  const end = await open(join(folder, 'others'), constants.O_WRONLY | constants.O_NONBLOCK);
  await end.writeFile('still there');
  await end.close();
  expect(await said).toBe('still there');
});
