// Names of files that are no UTF-8: trees with them are copied and removed whole.

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';

afterEach(cleanUp);

const NAME = Buffer.from([0x61, 0xff, 0x62]);
const FOLDER = Buffer.from([0xfe]);
const inside = (folder: string | Buffer, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(folder), Buffer.from('/'), name]);

test.skipIf(process.platform !== 'linux')('a tree with such names is copied and removed', async () => {
  const server = await startApp();
  const client = await server.connect();
  const [tree, copy] = [join(server.workspace, 'tree'), join(server.workspace, 'copy')];
  mkdirSync(inside(tree, FOLDER), { recursive: true });
  writeFileSync(inside(tree, NAME), 'one');
  writeFileSync(inside(inside(tree, FOLDER), NAME), 'two');
  writeFileSync(join(tree, 'plain'), 'three');
  symlinkSync(NAME, join(tree, 'link'));
  // Into a folder that is new, and into one that is there.
  for (const _ of [1, 2]) {
    expect(await client.request('fs/copy', { sourcePath: tree, destinationPath: copy, recursive: true })).toEqual({});
    expect(await readdir(copy, 'buffer')).toHaveLength(4);
    expect(readFileSync(inside(copy, NAME), 'utf8')).toBe('one');
    expect(readFileSync(inside(inside(copy, FOLDER), NAME), 'utf8')).toBe('two');
    expect(await readlink(join(copy, 'link'), 'buffer')).toEqual(NAME);
  }
  await client.request('fs/remove', { path: tree });
  await client.request('fs/remove', { path: copy });
  expect(await readdir(server.workspace)).toEqual([]);
});
