// A transparent WebSocket relay on loopback: what passes is recorded, so that real clients' sessions can be checked.
import { once } from 'node:events';
import http from 'node:http';
import WebSocket, { WebSocketServer } from 'ws';

const OWN_HEADERS = /^(host|connection|upgrade|sec-websocket-.*|content-length)$/i;

/**
 * Listens on a free port of 127.0.0.1 and passes each connection on to `upstream` (ws://…) with the client's headers.
 * A refused upgrade is passed back as it came. Entries are `{ conn, from, message, answers?, atMs }`, the form that the
 * kit's validator takes; a frame that is not JSON text is `{ conn, from, raw }`. Whoever opens it calls `close`.
 */
export async function openRelay(upstream) {
  const entries = [];
  const sockets = new Set();
  const accepting = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 1 << 27 });
  const server = http.createServer((_request, response) => response.writeHead(404).end());
  let connections = 0;

  server.on('upgrade', (request, socket, head) => {
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !OWN_HEADERS.test(name)));
    const protocols = request.headers['sec-websocket-protocol']?.split(/\s*,\s*/) ?? [];
    const behind = new WebSocket(`${upstream}${request.url}`, protocols, { headers, perMessageDeflate: false });
    const early = [];
    const collect = (data, isBinary) => early.push([data, isBinary]);
    behind.on('message', collect);
    behind.on('error', () => socket.destroy());
    behind.on('unexpected-response', (_asked, response) => refuse(socket, response));
    behind.on('open', () => {
      accepting.handleUpgrade(request, socket, head, (front) => {
        behind.off('message', collect);
        join(front, behind, recorder(entries, ++connections), early);
        for (const each of [front, behind]) {
          sockets.add(each);
          each.on('close', () => sockets.delete(each));
        }
      });
    });
  });

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `ws://127.0.0.1:${server.address().port}`,
    entries,
    close() {
      for (const socket of sockets) socket.terminate();
      server.close();
    },
  };
}

function refuse(socket, response) {
  const chunks = [];
  response.on('data', (chunk) => chunks.push(chunk));
  response.on('end', () => {
    const body = Buffer.concat(chunks);
    const head = `HTTP/1.1 ${response.statusCode} ${response.statusMessage}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`;
    socket.end(Buffer.concat([Buffer.from(head), body]));
  });
}

function join(front, behind, record, early) {
  const toFront = (data, isBinary) => {
    record('server', data, isBinary);
    if (front.readyState === WebSocket.OPEN) front.send(data, { binary: isBinary });
  };
  for (const [data, isBinary] of early) toFront(data, isBinary);
  behind.on('message', toFront);
  front.on('message', (data, isBinary) => {
    record('client', data, isBinary);
    if (behind.readyState === WebSocket.OPEN) behind.send(data, { binary: isBinary });
  });
  pair(front, behind);
  pair(behind, front);
}

/** When one side ends, the other does, with the same code where it can be sent. */
function pair(one, other) {
  one.on('error', () => {});
  one.on('close', (code, reason) => {
    const sendable =
      code === 1000 ||
      (code >= 3000 && code <= 4999) ||
      (code >= 1001 && code <= 1014 && code !== 1005 && code !== 1006);
    if (sendable) other.close(code, reason);
    else if (code === 1005) other.close();
    else other.terminate();
  });
}

function recorder(entries, conn) {
  const asked = new Map();
  return (from, data, isBinary) => {
    const entry = { conn, from, atMs: Date.now() };
    entries.push(entry);
    try {
      if (isBinary) throw new Error('a binary frame');
      entry.message = JSON.parse(data.toString());
    } catch {
      entry.raw = isBinary ? `(${data.length} bytes of a binary frame)` : data.toString().slice(0, 300);
      return;
    }
    const { id, method, params } = entry.message;
    if (id === undefined) return;
    const key = JSON.stringify(id);
    if (from === 'client' && method !== undefined) asked.set(key, { method, params });
    if (from === 'server' && method === undefined) {
      entry.answers = asked.get(key);
      asked.delete(key);
    }
  };
}
