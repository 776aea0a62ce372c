// The client runs where there is no Node: nothing that it imports needs a module of Node's.

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

test('the client bundles for browsers', async () => {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(new URL('../../../src/client/client.ts', import.meta.url))],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    logLevel: 'silent',
  });
  const rooms = Object.keys(metafile.inputs).flatMap((file) => /(?:^|\/)src\/([a-z]+)\//.exec(file)?.[1] ?? []);
  // Of the server it knows the words of the handshake, and nothing else.
  const server = ['config', 'approvals', 'fs', 'process', 'account', 'mcp', 'skills', 'agent', 'threads', 'history'];
  expect(rooms.filter((room) => server.includes(room))).toEqual([]);
  expect(rooms).toContain('rpc');
});

test('so does the library, without a module of Node and with nothing of the server but its declarations', async () => {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(new URL('../../../src/client/web.ts', import.meta.url))],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    logLevel: 'silent',
  });
  const files = Object.keys(metafile.inputs).flatMap((file) => /(?:^|\/)src\/(.+)\.ts$/.exec(file)?.[1] ?? []);
  const own = /^(base|model|rpc|transports|client)\//;
  const declarations = /(methods|schema|overrides|notifications|requests)$|^protocol$/;
  expect(files.filter((file) => !own.test(file) && !declarations.test(file))).toEqual([]);
  expect(files).toContain('threads/turn-methods');
});
