// Ports for servers that are to be found at the same one after a restart.

import { createServer } from 'node:net';

/** Below what systems give away by themselves: meanwhile nobody else is given it. Each process of the tests begins elsewhere. */
const FIRST = 10_000;
const COUNT = 20_000;

let next = (process.pid * 97) % COUNT;

/** One of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + next;
    next = (next + 1) % COUNT;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
