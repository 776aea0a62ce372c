// Where a browser comes back to at the end of a log-in: an address on this machine, for one log-in and no longer.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import { deferred } from '../base/signals.ts';

export interface LoginCallback extends Closable {
  readonly url: string;
  /** The code to have tokens for. Rejects as *forbidden* with what the authorisation server said instead. */
  readonly code: Promise<string>;
}

/** What does not carry `state` belongs to another log-in, and is ignored. */
export async function openLoginCallback(state: string): Promise<LoginCallback> {
  const code = deferred<string>();
  code.promise.catch(() => {});
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const say = (status: number, text: string) =>
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(text);
    if (pathname !== '/callback' || searchParams.get('state') !== state) return void say(404, 'not found');
    const given = searchParams.get('code');
    if (given === null) {
      const why = searchParams.get('error_description') ?? searchParams.get('error') ?? 'without a reason';
      say(200, 'The log-in was refused. This page can be closed.');
      return code.reject(new AppError('forbidden', `the log-in was refused: ${why.slice(0, 500)}`));
    }
    say(200, 'The log-in is done. This page can be closed.');
    code.resolve(given);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/callback`,
    code: code.promise,
    close: closeOnce(
      () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeIdleConnections();
        }),
    ),
  };
}
