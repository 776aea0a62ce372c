// The sandbox is tried soon after a start, once, and clients are told where it does not hold.

import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

async function started(isAvailable: boolean) {
  const clock = new ManualClock();
  const lines: object[] = [];
  let looks = 0;
  const nothing = () => {};
  const server = await startApp({
    clock,
    log: { debug: nothing, info: nothing, warn: (about) => void lines.push(about), error: nothing },
    sandbox: async () => {
      looks += 1;
      if (isAvailable) return { isAvailable, tool: { kind: 'bwrap', path: '/bin/false' } };
      return { isAvailable, reason: 'no namespaces', advice: 'allow them' };
    },
  });
  return { server, clock, lines, looks: () => looks };
}

test('where it does not hold, clients that are there and that come are told, and the log', async () => {
  const { server, clock, lines, looks } = await started(false);
  const client = await server.connect();
  await client.settled();
  expect(looks()).toBe(0);
  clock.advance(1_000);
  const told = {
    summary: expect.stringContaining('cannot be confined'),
    details: expect.stringContaining('allow them'),
  };
  expect(await client.notified('configWarning')).toMatchObject(told);
  expect(looks()).toBe(1);
  const later = await server.connect();
  expect(await later.notified('configWarning')).toMatchObject(told);
  clock.advance(10_000);
  await client.settled();
  expect([looks(), client.news('configWarning').length, later.news('configWarning').length]).toEqual([1, 1, 1]);
  expect(lines).toEqual([{ reason: 'no namespaces', advice: 'allow them' }]);
});

test('where it holds, nobody is told anything', async () => {
  const { server, clock, lines, looks } = await started(true);
  const client = await server.connect();
  clock.advance(1_000);
  await client.settled();
  expect([looks(), client.news('configWarning'), lines]).toEqual([1, [], []]);
});

test('what a command finds out before counts as well', async () => {
  const { server } = await started(false);
  const client = await server.connect({ experimentalApi: true });
  await client.request('policy/explain', { command: 'ls', cwd: server.workspace });
  expect(await client.notified('configWarning')).toMatchObject({ details: expect.stringContaining('no namespaces') });
});
