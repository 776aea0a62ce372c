// The proxy through which commands without a network reach the hosts that they may: it looks up a name itself, and goes nowhere else.

import { lookup } from 'node:dns/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { messageOf } from '../base/errors.ts';
import type { NetworkRules } from '../model/policy.ts';
import { type Barred, barredAddress, barredName, plainHost } from './hosts.ts';

export interface OpenProxy {
  /** Settles when nothing goes through it any more. */
  close(): Promise<void>;
}

export type Lookup = (host: string) => Promise<readonly string[]>;

const MOST_CONNECTIONS = 256;
const CONNECT_MS = 30_000;

const WHY: Readonly<Record<Barred, string>> = {
  denied: 'the permission profile denies this host',
  notListed: 'the permission profile does not list this host',
  private: 'the host leads to this machine or a private network',
};

/** What is between two machines only. */
const BETWEEN = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

const READING: readonly (string | undefined)[] = ['GET', 'HEAD', 'OPTIONS'];

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const everyAddress: Lookup = async (host) => {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
};

/** Listens on the Unix socket. `refused` hears of what was not let through. */
export async function openProxy(
  path: string,
  rules: NetworkRules,
  refused: (host: string, why: string) => void,
  addressesOf: Lookup = everyAddress,
): Promise<OpenProxy> {
  const open = new Set<Socket>();
  const place = async (host: string): Promise<string> => {
    const name = barredName(rules, host);
    if (name) throw new Refusal(403, WHY[name]);
    const addresses = await addressesOf(host).catch(() => {
      throw new Refusal(502, 'there is no such host');
    });
    const barred = addresses.map((address) => barredAddress(rules, host, address));
    // Of a name that leads to several places one that may not be reached bars all of them.
    const why = barred.find((each) => each !== undefined);
    const [address] = addresses;
    if (why || address === undefined) throw new Refusal(403, WHY[why ?? 'notListed']);
    return address;
  };
  const dial = async (host: string, port: number): Promise<Socket> => {
    const socket = connect({ host: await place(host), port });
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('it does not answer')));
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', (error) => reject(new Refusal(502, messageOf(error))));
    });
    socket.setTimeout(0);
    return socket;
  };
  const said = (host: string, error: unknown): Refusal => {
    const refusal = error instanceof Refusal ? error : new Refusal(502, messageOf(error));
    if (refusal.status === 403) refused(host, refusal.message);
    return refusal;
  };

  const server = createServer((asked, answer) => {
    const target = targetOf(asked.url);
    void forward(asked, answer, target, rules, dial).catch((error: unknown) => {
      const { status, message } = said(target?.hostname ?? '', error);
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${message}\n`);
    });
  });
  server.on('connect', (asked: IncomingMessage, near: Socket, head: Buffer) => {
    near.on('error', () => near.destroy());
    const target = tunnelOf(asked.url);
    void tunnel(near, head, target, rules, dial).catch((error: unknown) => {
      const { status, message } = said(target?.host ?? '', error);
      near.end(`HTTP/1.1 ${status} Refused\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${message}\n`);
    });
  });
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve());
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

type Dial = (host: string, port: number) => Promise<Socket>;

async function tunnel(
  near: Socket,
  head: Buffer,
  target: { readonly host: string; readonly port: number } | undefined,
  { isLimited }: NetworkRules,
  dial: Dial,
): Promise<void> {
  if (!target) throw new Refusal(400, 'a host and a port are needed');
  if (isLimited)
    throw new Refusal(403, 'the permission profile lets commands only read, and not over what cannot be looked into');
  const far = await dial(target.host, target.port);
  if (near.destroyed) return void far.destroy();
  far.on('error', () => near.destroy());
  // What is still to be written is written first.
  far.on('close', () => near.destroySoon());
  near.on('close', () => far.destroySoon());
  near.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) far.write(head);
  far.pipe(near);
  near.pipe(far);
}

async function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  target: URL | undefined,
  { isLimited }: NetworkRules,
  dial: Dial,
): Promise<void> {
  if (!target) throw new Refusal(400, 'this is a proxy: a whole address that begins with http:// is needed');
  if (isLimited && !READING.includes(asked.method))
    throw new Refusal(403, 'the permission profile lets commands only read');
  const framing = framingOf(asked);
  const socket = await dial(plainHost(target.hostname), Number(target.port || 80));
  if (answer.closed) return void socket.destroy();
  const passed = request({
    createConnection: () => socket,
    ...{ method: asked.method, path: `${target.pathname}${target.search}`, setHost: false },
    // The host that was looked at, whatever the command writes beside it.
    headers: { ...passable(asked), ...framing, host: target.host, connection: 'close' },
  });
  answer.once('close', () => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    passed.once('error', reject);
    passed.once('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, passable(response));
      response.once('error', reject);
      response.once('end', resolve);
      response.pipe(answer);
    });
    asked.pipe(passed);
  });
}

/** A body goes on as one, also with a method that has none: the other side would take it for requests of their own. */
function framingOf({ headers }: IncomingMessage): Record<string, string> {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (encoding === undefined) return length === undefined ? {} : { 'content-length': length };
  if (encoding.toLowerCase() !== 'chunked') throw new Refusal(501, 'this transfer encoding is not known here');
  return { 'transfer-encoding': 'chunked' };
}

function passable({ headers }: IncomingMessage): Record<string, string | string[]> {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const entries = Object.entries(headers).filter(([name]) => !BETWEEN.has(name) && !named.includes(name));
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function targetOf(address: string | undefined): URL | undefined {
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
  return url?.protocol === 'http:' ? url : undefined;
}

/** `host:port`, or `[address]:port`. */
function tunnelOf(address = ''): { readonly host: string; readonly port: number } | undefined {
  const [, host, port] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(address) ?? [];
  const number = Number(port);
  return host === undefined || number < 1 || number > 65_535 ? undefined : { host: plainHost(host), port: number };
}
