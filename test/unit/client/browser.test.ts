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
