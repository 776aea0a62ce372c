// What every backend promises, held against each of them.

import { describe, expect, test } from 'vitest';
import type { Backend, BackendEvent } from '../../src/agent/backend.ts';
import { createMockBackend } from '../../src/agent/backends/mock.ts';
import { createRuntimeBackend } from '../../src/agent/backends/runtime.ts';
import { createUnavailableBackend } from '../../src/agent/backends/unavailable.ts';
import { anthropic, chat, responses, type Step, startModelServer, stream } from '../harness/model-server.ts';
import { house, outcome, turnOf, userSays } from '../unit/agent/backends/turn.ts';
import { accessTo } from '../unit/agent/models/access.ts';

interface Ready extends AsyncDisposable {
  readonly backend: Backend;
}

const runtimeOn = (wire: 'responses' | 'chat' | 'anthropic', step: Step) => async (): Promise<Ready> => {
  const server = await startModelServer(step);
  const backend = createRuntimeBackend({
    provider: async () => ({ access: { ...accessTo(server), wire }, retries: { request: 0, stream: 0 } }),
    catalogue: async () => ({
      ...{ provider: 'scripted', chosen: 'scripted-model', contextWindow: null },
      ...{ configured: {}, access: async () => undefined },
    }),
  });
  const end = async () => {
    await backend.close();
    await server.close();
  };
  return { backend, [Symbol.asyncDispose]: end };
};

const alone = (backend: Backend) => async (): Promise<Ready> => ({ backend, [Symbol.asyncDispose]: backend.close });

/** Each speaks a little and then says nothing more, if it speaks at all. */
const STALLING = 'say hello\nhang';
const backends: [string, () => Promise<Ready>, speaks: boolean][] = [
  ['mock', alone(createMockBackend()), true],
  ['unavailable', alone(createUnavailableBackend()), false],
  ['runtime, responses', runtimeOn('responses', stream(responses.partial('msg_1', 'hello'), 'stall')), true],
  ['runtime, chat', runtimeOn('chat', stream(chat.text('hello'), 'stall')), true],
  [
    'runtime, anthropic',
    runtimeOn('anthropic', stream([anthropic.start(), ...anthropic.text(0, 'hello').slice(0, 2)], 'stall')),
    true,
  ],
];

describe.each(backends)('%s', (_, start, speaks) => {
  test('offers models, one of them the default', async () => {
    await using ready = await start();
    const models = await ready.backend.models();
    expect(models.filter((model) => model.isDefault)).toHaveLength(1);
    for (const model of models) expect(model.efforts.map((each) => each.effort)).toContain(model.defaultEffort);
  });

  test('an interrupt ends the run as cancelled, with every begun message completed before', async () => {
    await using ready = await start();
    const abort = new AbortController();
    const events: BackendEvent[] = [];
    const reading = (async () => {
      for await (const batch of ready.backend.run(turnOf([userSays(STALLING)]), house(), abort.signal)) {
        events.push(...batch);
        if (batch.some((event) => event.type === 'text')) abort.abort();
      }
    })();
    if (speaks) await expect(reading).rejects.toMatchObject({ kind: 'cancelled' });
    else await reading;
    const ids = (type: 'messageStarted' | 'messageCompleted') =>
      events.flatMap((event) => (event.type === type ? [event.itemId] : []));
    expect(ids('messageCompleted')).toEqual(ids('messageStarted'));
    expect(ids('messageStarted')).toHaveLength(speaks ? 1 : 0);
  });

  test('a run that is interrupted before it begins does nothing', async () => {
    await using ready = await start();
    const tools = house();
    const { events, thrown } = await outcome(
      ready.backend.run(turnOf([userSays('run x')]), tools, AbortSignal.abort(new Error('stop'))),
    );
    expect(tools.commands).toEqual([]);
    expect(events).toEqual([]);
    expect(thrown).toMatchObject({ kind: 'cancelled' });
  });

  test('closing twice is closing once', async () => {
    await using ready = await start();
    await ready.backend.close();
    await ready.backend.close();
  });
});
