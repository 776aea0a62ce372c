// `npm start` without a terminal: a server, a client over its socket, a turn with a command and an approval, and an end.

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { scratch } from './executable.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('it shows a turn with an approval and ends by itself', async ({ skip }) => {
  const { isBuilt } = (await import(new URL('../../scripts/setup.mjs', import.meta.url).href)) as {
    isBuilt(): boolean;
  };
  if (!isBuilt()) {
    console.warn('NOT TESTED: npm start, because the build is older than the source; run `npm run build`');
    skip();
  }
  const home = scratch();
  const child = spawn(process.execPath, ['scripts/start.mjs'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: home, TMPDIR: home, LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const [said, complained, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  expect({ code, complained }).toEqual({ code: 0, complained: '' });
  expect(said).toContain('written by a sandboxed command');
  expect(said).toContain('approval asked for:');
  expect(said).toContain('turn completed');
  expect(said).toMatch(/token file: {2}\/.*ws-token/);
});
