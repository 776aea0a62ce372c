// A Unix socket that passes on to another one and cuts each connection after so many bytes, either way.

import { connect as connectSocket, createServer, type Socket } from 'node:net';

export interface CutAfter {
  readonly toServer: number;
  readonly toClient: number;
}

export interface CuttingProxy {
  /** Connections so far. */
  readonly connections: () => number;
  close(): Promise<void>;
}

/** `next` says for each connection how far it gets; infinity: as far as it wants. */
export async function cuttingProxy(path: string, target: string, next: () => CutAfter): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let count = 0;
  const server = createServer((near) => {
    const far = connectSocket(target);
    const { toServer, toClient } = next();
    count += 1;
    for (const socket of [near, far]) {
      open.add(socket);
      socket
        .on('error', () => {})
        .once('close', () => {
          open.delete(socket);
          near.destroy();
          far.destroy();
        });
    }
    passOn(near, far, toServer);
    passOn(far, near, toClient);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    connections: () => count,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What gets through arrives before the end. */
function passOn(from: Socket, to: Socket, limit: number): void {
  let left = limit;
  from.on('data', (bytes: Buffer) => {
    if (left <= 0) return;
    const part = bytes.subarray(0, left);
    left -= bytes.length;
    if (left > 0) to.write(part);
    else to.end(part, () => from.destroy());
  });
}
