// A client that does not read slows down its own programs and nobody else; what is beyond a cap is thrown away.

import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { BARE, bash, streamed } from '../harness/processes.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { eventually } from '../unit/children/waiting.ts';

afterEach(cleanUp);

const MIB = 1024 * 1024;
const TOTAL = 64 * MIB;

/** Writes its output piece by piece and how many pieces it has written into the file `$1`. */
const COUNTED = `for i in $(seq 1 64); do head -c ${MIB} /dev/zero; printf x >>$1; done`;

test.each(['websocket', 'unix-lines'] as const)(
  'a reader that stands still over %s pauses its program',
  async (transport) => {
    const server = await startApp({ transport });
    const [slow, other] = [await server.connect(), await server.connect()];
    const pieces = join(server.workspace, 'pieces');
    writeFileSync(pieces, '');
    slow.wire.pause();
    const run = slow.request('command/exec', {
      ...BARE,
      command: bash(COUNTED, pieces),
      processId: 'p',
      streamStdoutStderr: true,
      disableOutputCap: true,
      disableTimeout: true,
    });
    const count = () => statSync(pieces).size;
    await eventually('the first pieces', () => count() > 0);
    let before = -1;
    await eventually('that no more is written', async () => {
      const last = before;
      before = count();
      await other.request('command/exec', { ...BARE, command: ['sleep', '0.2'] });
      return last === count();
    });
    expect(count()).toBeLessThan(48);
    slow.wire.resume();
    expect(await run).toMatchObject({ exitCode: 0 });
    expect(streamed(slow, 'p').length).toBe(TOTAL);
  },
);

test('a program that waits for its reader can still be ended', async () => {
  const server = await startApp({ transport: 'websocket' });
  const [slow, other] = [await server.connect({ experimentalApi: true }), await server.connect()];
  slow.wire.pause();
  const stream = { processHandle: 'p', streamStdoutStderr: true, outputBytesCap: null, timeoutMs: null };
  const begun = join(server.workspace, 'begun');
  const command = bash('yes | head -n 2; touch $1; exec yes', begun);
  slow.post('process/spawn', { cwd: server.workspace, command, ...stream });
  await eventually('the first output', () => existsSync(begun));
  await other.request('command/exec', { ...BARE, command: ['sleep', '0.5'] });
  slow.post('process/kill', { processHandle: 'p' });
  slow.wire.resume();
  expect(await slow.notified('process/exited')).toMatchObject({ exitCode: 137 });
  expect(streamed(slow, 'p').subarray(0, 4).toString()).toBe('y\ny\n');
});

test.each([false, true])(
  'a flood is cut at the cap, once, and memory stays as it was; streamed: %s',
  async (streams) => {
    const server = await startApp();
    const client = await server.connect();
    const before = process.memoryUsage().rss;
    const result = await client.request('command/exec', {
      ...BARE,
      command: bash('yes | head -c 512M'),
      outputBytesCap: MIB,
      disableTimeout: true,
      ...(streams ? { processId: 'p', streamStdoutStderr: true } : {}),
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(192 * MIB);
    if (streams) {
      const deltas = client.news('command/exec/outputDelta');
      expect(streamed(client, 'p').length).toBe(MIB);
      expect(deltas.filter((each) => each.capReached)).toEqual([deltas.at(-1)]);
    } else {
      expect([result.stdout.length, result.stdoutCapReached]).toEqual([MIB, true]);
    }
  },
);
