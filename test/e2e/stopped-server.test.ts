// A server that is stopped takes connections and answers nothing: commands say so instead of waiting for ever.

import { expect, test } from 'vitest';
import { run, scratch, serve } from './executable.ts';

test.skipIf(process.platform === 'win32')('what asks a stopped server ends, and says why', async () => {
  const data = scratch();
  const { program } = await serve(['--listen', 'unix://', '--data-dir', data]);
  program.child.kill('SIGSTOP');
  const [listed, looked, status] = await Promise.all([
    run(['threads', 'list', '--data-dir', data]),
    run(['doctor', '--data-dir', data]),
    run(['app-server', 'status', '--data-dir', data]),
  ]);
  expect(listed).toMatchObject({ code: 4, stdout: '', stderr: expect.stringMatching(/says nothing within 15 s/) });
  expect(looked.stdout).toMatch(/doubtful {2}turns: the running server could not be asked: .*is it stopped\?/);
  expect(status.stdout).toMatch(/unix:\/\/\S+ does not answer: no answer within 2 s/);
  program.child.kill('SIGCONT');
});
