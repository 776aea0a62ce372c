// The client against a server written by hand: handshake, answers, refusals, notifications, the end.

import { expect, test } from 'vitest';
import { Client, connect, paramsOf, type ServerNotification } from '../../../src/client/client.ts';
import type { Answer } from '../../../src/client/questions.ts';
import { agentMessageDelta } from '../../../src/threads/notifications.ts';
import { threadUnsubscribe } from '../../../src/threads/thread-methods.ts';
import type { Connection } from '../../../src/transports/connection.ts';
import { memoryPair } from '../../../src/transports/memory.ts';
import { SERVER } from '../../harness/hostile-server.ts';

interface Frame {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

class Server {
  readonly connection: Connection;
  readonly #frames: AsyncIterator<unknown>;

  constructor(connection: Connection) {
    this.connection = connection;
    this.#frames = connection.frames[Symbol.asyncIterator]();
  }

  async next(): Promise<Frame> {
    const { value } = await this.#frames.next();
    return JSON.parse(value as string) as Frame;
  }

  send(...messages: readonly object[]): void {
    this.connection.send(messages.map((each) => JSON.stringify(each)));
  }
}

async function pair(answers: Readonly<Record<string, Answer>> = {}): Promise<{ client: Client; server: Server }> {
  const [near, far] = memoryPair();
  const server = new Server(far);
  const connecting = connect(near, { name: 'test', version: '1', experimentalApi: true, optOut: ['warning'], answers });
  const hello = await server.next();
  expect(hello).toMatchObject({
    method: 'initialize',
    params: { capabilities: { experimentalApi: true, optOutNotificationMethods: ['warning'] } },
  });
  server.send({ id: hello.id, result: SERVER });
  const client = await connecting;
  expect(await server.next()).toMatchObject({ method: 'initialized' });
  return { client, server };
}

test('the handshake tells who the server is; a refused one closes the connection', async () => {
  const { client } = await pair();
  expect(client.server.codexHome).toBe('/data');
  const [near, far] = memoryPair();
  const server = new Server(far);
  const connecting = connect(near, { name: 'test', version: '1' });
  server.send({ id: (await server.next()).id, error: { code: -32600, message: 'no' } });
  await expect(connecting).rejects.toThrow('no');
  expect(await near.closed).toMatchObject({ kind: 'ended' });
  expect(() => new Client(memoryPair()[0]).server).toThrow('handshake');
});

test('an answer without the agreed shape is an error, and so is the end of the connection', async () => {
  const { client, server } = await pair();
  const odd = client.request(threadUnsubscribe, { threadId: 't' });
  server.send({ id: (await server.next()).id, result: { status: 'perhaps' } });
  await expect(odd).rejects.toMatchObject({ kind: 'invalid' });
  const cut = client.request(threadUnsubscribe, { threadId: 't' });
  await server.next();
  await server.connection.close();
  await expect(cut).rejects.toMatchObject({ kind: 'unavailable' });
});

test.each([
  ['no answer for it', undefined],
  ['an answer that throws', async () => Promise.reject(new Error('defect'))],
  [
    'an answer that throws at once',
    () => {
      throw new Error('defect');
    },
  ],
] as [string, Answer | undefined][])('with %s a question is refused', async (_why, answer) => {
  const method = 'item/commandExecution/requestApproval';
  const { server } = await pair(answer && { [method]: answer });
  server.send({ id: 7, method, params: {} });
  expect(await server.next()).toMatchObject({ id: 7, result: { decision: 'decline' } });
  server.send({ id: 8, method: 'toString', params: {} });
  expect(await server.next()).toMatchObject({ id: 8, error: {} });
});

test('a question that was resolved elsewhere aborts its answer', async () => {
  const method = 'item/commandExecution/requestApproval';
  let wasAborted = false;
  const { server } = await pair({
    [method]: (_params, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          wasAborted = true;
          reject(new Error('resolved'));
        });
      }),
  });
  server.send(
    { id: 9, method, params: {} },
    { method: 'serverRequest/resolved', params: { threadId: 't', requestId: 9 } },
  );
  expect(await server.next()).toMatchObject({ id: 9, result: { decision: 'decline' } });
  expect(wasAborted).toBe(true);
});

test('every subscriber gets every notification from then on, in order, until the end', async () => {
  const { client, server } = await pair();
  const [one, two] = [client.notifications(), client.notifications()];
  const deltas = ['a', 'b', 'c'].map((delta) => ({
    method: agentMessageDelta.method,
    params: { threadId: 't', turnId: 'u', itemId: 'i', delta },
  }));
  server.send(...deltas);
  const { value } = await two.next();
  expect(paramsOf(value as ServerNotification, agentMessageDelta)?.delta).toBe('a');
  await two.return?.();
  expect((await two.next()).done).toBe(true);
  await server.connection.close();
  const seen: unknown[] = [];
  for await (const notification of one) seen.push(paramsOf(notification, agentMessageDelta)?.delta);
  expect(seen).toEqual(['a', 'b', 'c']);
  expect(paramsOf({ method: agentMessageDelta.method, params: {} }, agentMessageDelta)).toBeUndefined();
});
