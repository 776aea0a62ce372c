// Large files in one message: written and read back whole, over every transport, in whatever pieces the wire brings them.

import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';

afterEach(cleanUp);

const PIECE = 64 * 1024;

test.each(TRANSPORTS)('5 MiB in one message over %s (BC-02a)', async (transport) => {
  const server = await startApp({ transport });
  const client = await server.connect();
  const path = join(server.workspace, 'large');
  const data = randomBytes(5 * 1024 * 1024);
  const request = { id: 'w', method: 'fs/writeFile', params: { path, dataBase64: data.toString('base64') } };
  const line = Buffer.from(`${JSON.stringify(request)}\n`);
  const pieces = Array.from({ length: Math.ceil(line.length / PIECE) }, (_, index) =>
    line.subarray(index * PIECE, (index + 1) * PIECE),
  );
  await client.wire.sendPieces(pieces);
  const answer = await client.message((each) => each.id === 'w');
  expect(answer.result).toEqual({ version: createHash('sha256').update(data).digest('hex') });
  expect((await readFile(path)).equals(data)).toBe(true);
  const { dataBase64 } = await client.request('fs/readFile', { path });
  expect(Buffer.from(dataBase64, 'base64').equals(data)).toBe(true);
});

test('many large reads at once are all answered', async () => {
  const server = await startApp();
  const client = await server.connect();
  const path = join(server.workspace, 'large');
  const data = randomBytes(3 * 1024 * 1024);
  await client.request('fs/writeFile', { path, dataBase64: data.toString('base64') });
  const answers = await Promise.all(Array.from({ length: 24 }, () => client.request('fs/readFile', { path })));
  for (const { dataBase64 } of answers) expect(Buffer.from(dataBase64, 'base64').equals(data)).toBe(true);
});
