// Looking for the server of a data directory: somebody who has just come, or is about to go, is waited for.

import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findServer } from '../../../src/cli/daemon.ts';
import { isOwned, takeOwnership } from '../../../src/history/owner.ts';
import { listenAt, parseListenAddress } from '../../../src/transports/address.ts';

let directory: string;
beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'heddle-daemon-')));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** Long enough for a look to have been taken: it takes the same ways. */
async function looked(): Promise<void> {
  for (let count = 0; count < 20; count += 1) expect(await isOwned(directory)).toBe(true);
}

it('waits for a server that has not said yet where it listens', async () => {
  const ownership = await takeOwnership({ directory, version: '1' });
  const found = findServer(directory);
  await looked();
  const address = `unix://${join(directory, 's.sock')}`;
  const listener = await listenAt(parseListenAddress(address, ''), { flags: {}, dataDirectory: directory })(() => {});
  await ownership.announce({ endpoints: [address] });
  expect(await found).toMatchObject({ owner: { pid: process.pid }, address });
  await listener.close();
  await ownership.close();
});

it('waits for a server that ends', async () => {
  const ownership = await takeOwnership({ directory, version: '1' });
  await ownership.announce({ endpoints: [`unix://${join(directory, 'gone.sock')}`] });
  const found = findServer(directory);
  await looked();
  await ownership.close();
  expect(await found).toBeUndefined();
});

it('does not wait for one that has no socket', async () => {
  const ownership = await takeOwnership({ directory, version: '1' });
  await ownership.announce({ endpoints: ['stdio://'] });
  expect(await findServer(directory)).toBe('silent');
  await ownership.close();
});
