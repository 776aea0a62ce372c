// The Unix socket listener: its file, its folder, and the two languages it serves (BC-19d,e).

import { spawn } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { unixGuard } from '../../../src/auth/policy.ts';
import { localPrincipal } from '../../../src/auth/principal.ts';
import type { AppError } from '../../../src/base/errors.ts';
import { deferred } from '../../../src/base/signals.ts';
import type { Accept, Connection, Listener } from '../../../src/transports/connection.ts';
import { listenOnUnix } from '../../../src/transports/unix.ts';
import { ManualClock } from './manual-clock.ts';

let folder: string;
const cleanups: (() => Promise<unknown> | unknown)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-'));
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
  await rm(folder, { recursive: true, force: true });
});

const socketAt = (name = 's.sock'): string => join(folder, name);

async function listen(path: string, accept: Accept = () => {}, clock = new ManualClock()): Promise<Listener> {
  const listener = await listenOnUnix({ path, guard: unixGuard(), clock })((connection, principal) => {
    cleanups.push(() => connection.close());
    accept(connection, principal);
  });
  cleanups.push(() => listener.close());
  return listener;
}

async function refusal(path: string): Promise<AppError> {
  return listen(path).then(
    () => expect.unreachable(),
    (error: AppError) => error,
  );
}

/** A socket file whose server has died without removing it. */
async function leaveStale(path: string): Promise<void> {
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
  await new Promise((resolve) => child.once('exit', resolve));
  expect((await lstat(path)).isSocket()).toBe(true);
}

describe('the socket file', () => {
  it('is 0600 in a folder made 0700, and goes with the listener', async () => {
    const path = socketAt('made/s.sock');
    const listener = await listen(path);
    expect(listener.address).toBe(`unix://${path}`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'made'))).mode & 0o777).toBe(0o700);
    await listener.close();
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  it('may have a path of 103 bytes and no more', async () => {
    const fill = 103 - Buffer.byteLength(folder) - 1;
    await listen(join(folder, 'x'.repeat(fill)));
    const error = await refusal(join(folder, 'x'.repeat(fill + 1)));
    expect(error.kind).toBe('invalid');
    expect(error.message).toContain('104 bytes');
    expect(error.message).toContain('103');
  });

  it('is replaced when stale, also by many servers at once of which one wins (BC-19d)', async () => {
    const path = socketAt();
    await leaveStale(path);
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => listen(path)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ kind: 'unavailable' });
    const socket = connect(path);
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.destroy();
  });

  it('is never stolen from a live server', async () => {
    const path = socketAt();
    const other = createServer((socket) => socket.on('error', () => {}).end('alive'));
    await new Promise<void>((resolve) => other.listen(path, resolve));
    cleanups.push(() => other.close());
    const error = await refusal(path);
    expect(error.kind).toBe('unavailable');
    expect(error.message).toContain('already in use');
    const answer = await new Promise((resolve) => connect(path).setEncoding('utf8').once('data', resolve));
    expect(answer).toBe('alive');
  });

  it('is not put in the place of anything else (BC-19e)', async () => {
    const path = socketAt('regular');
    await writeFile(path, 'x');
    await symlink(path, socketAt('link'));
    for (const taken of [path, socketAt('link'), folder]) {
      const error = await refusal(taken);
      expect(error.kind).toBe('unavailable');
      expect(error.message).toContain('not a socket');
    }
    expect(await readFile(path, 'utf8')).toBe('x');
  });

  it('is not put in a folder that others can write, unless it is sticky', async () => {
    await mkdir(socketAt('open'));
    await chmod(socketAt('open'), 0o777);
    expect((await refusal(socketAt('open/s'))).message).toContain('can be written by others');
    await chmod(socketAt('open'), 0o1777);
    await listen(socketAt('open/s'));
  });
});

describe('clients', () => {
  const arrival = () => {
    const arrived = deferred<Connection>();
    const accept: Accept = (connection, principal) => {
      expect(principal).toBe(localPrincipal);
      arrived.resolve(connection);
    };
    return { accept, arrived: arrived.promise };
  };

  it('get their answers after the end of their input, as with echo and socat', async () => {
    const { accept, arrived } = arrival();
    await listen(socketAt(), accept);
    const socket = connect({ path: socketAt(), allowHalfOpen: true });
    socket.end('{"id":1}\n{"id":2}');
    const connection = await arrived;
    const frames: unknown[] = [];
    for await (const frame of connection.frames) frames.push(frame);
    expect(frames).toEqual(['{"id":1}', '{"id":2}']);
    connection.send(['{"id":1,"result":{}}']);
    await connection.close({ kind: 'ended', text: 'the input is over' });
    let got = '';
    for await (const chunk of socket.setEncoding('utf8')) got += chunk;
    expect(got).toBe('{"id":1,"result":{}}\n');
  });

  it('are ended when they say nothing, or half a line (BC-35c)', async () => {
    const { accept, arrived } = arrival();
    const clock = new ManualClock();
    await listen(socketAt(), accept, clock);
    const silent = connect(socketAt());
    await new Promise((resolve) => silent.once('connect', resolve));
    const half = connect(socketAt());
    half.write('{"id":');
    const connection = await arrived;
    const ends = [silent, half].map((socket) => new Promise((resolve) => socket.resume().once('close', resolve)));
    clock.advance(10_000);
    await Promise.all(ends);
    expect((await connection.closed).kind).toBe('silent');
  });

  it('with a web Origin are refused, other WebSockets are welcome', async () => {
    const { accept, arrived } = arrival();
    await listen(socketAt(), accept);
    const url = `ws+unix://${socketAt()}:/`;
    const evil = new WebSocket(url, { headers: { Origin: 'http://evil.example' } });
    const error = await new Promise<Error>((resolve) => evil.once('error', resolve));
    expect(error.message).toContain('403');
    const ws = new WebSocket(url);
    cleanups.push(() => ws.terminate());
    ws.once('open', () => ws.send('"over http"'));
    const connection = await arrived;
    expect((await connection.frames[Symbol.asyncIterator]().next()).value).toBe('"over http"');
  });
});
