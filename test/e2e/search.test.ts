// The executable searches for files: the thread that ranks and the program that lists are found where they were installed.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { INITIALIZE, Program, protocolLines, scratch } from './executable.ts';

test('a search finds what is there, and the server ends when its client has gone', async () => {
  const folder = scratch();
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src', 'needle.ts'), '');
  const program = new Program(['app-server', '--backend', 'mock', '--data-dir', scratch()]);
  const params = { query: 'needl', roots: [folder], cancellationToken: null };
  program.write(INITIALIZE, { method: 'initialized' }, { id: 1, method: 'fuzzyFileSearch', params });
  await program.said('stdout', /"id":1,/);
  program.child.stdin.end();
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  const answer = protocolLines(stdout).find(({ id }) => id === 1);
  expect(answer).toMatchObject({ result: { files: [{ root: folder, path: 'src/needle.ts', match_type: 'file' }] } });
});
