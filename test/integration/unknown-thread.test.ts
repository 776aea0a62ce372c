// A thread that is not there: one kind of error and one text, whichever method it is asked for by.

import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';

afterEach(cleanUp);

const NOWHERE = '019b0000-0000-7000-8000-00000000dead';
const { requests } = JSON.parse(readFileSync(new URL('../fixtures/exchanges.json', import.meta.url), 'utf8')) as {
  requests: Record<string, { readonly params?: { readonly threadId?: string } }>;
};
const METHODS = Object.entries(requests).filter(([, { params }]) => typeof params?.threadId === 'string');

/** They have an answer also where there is no such thread: what stands there, and that nobody listens to it. */
const ANSWERED: readonly string[] = ['approval/pending', 'thread/unsubscribe'];

test('every method with a thread is among them', () => {
  expect(METHODS.length).toBeGreaterThan(40);
});

test('each says the same', async () => {
  const client = await (await startApp()).connect({ experimentalApi: true });
  for (const [method, { params }] of METHODS) {
    const section = method === 'thread/section/move' ? { sectionId: null } : {};
    const asked = client.request(method, { ...params, threadId: NOWHERE, ...section });
    if (ANSWERED.includes(method)) await asked;
    else
      await expect(asked, method).rejects.toMatchObject({
        message: `${method}: thread not found: ${NOWHERE} (no rollout found for thread id ${NOWHERE})`,
        code: -32004,
        data: { kind: 'not_found', retryable: false, threadId: NOWHERE },
      });
  }
});
