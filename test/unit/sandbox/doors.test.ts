// Ways out to single hosts: one for each owner, so that none takes the connections of another, and a log that stays readable.

import { once } from 'node:events';
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Log } from '../../../src/base/log.ts';
import { Doors } from '../../../src/sandbox/doors.ts';

const RULES = { allow: ['there.test'], deny: [], isLimited: false, allowsLocal: false };

let folder: string;
let lines: Record<string, unknown>[];
let doors: Doors;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-test-')));
  lines = [];
  doors = new Doors(join(folder, 'net'), {
    info: (line: Record<string, unknown>) => lines.push(line),
  } as unknown as Log);
});
afterEach(async () => {
  await doors.close();
  await rm(folder, { recursive: true });
});

const ask = (socketPath: string, host: string) =>
  new Promise<number>((resolve, reject) => {
    request({ socketPath, path: `http://${host}/` }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    })
      .on('error', reject)
      .end();
  });

test('an owner has one, with all its connections, however much another uses its own', async () => {
  const [mine, again, other] = [
    await doors.open(RULES, 'a'),
    await doors.open(RULES, 'a'),
    await doors.open(RULES, 'b'),
  ];
  expect(again.socket).toBe(mine.socket);
  expect(other.socket).not.toBe(mine.socket);
  const taken: Socket[] = [];
  for (let at = 0; at < 300; at++) {
    const socket = connect(mine.socket);
    socket.on('error', () => {});
    taken.push(socket);
  }
  await Promise.all(taken.map((socket) => once(socket, 'connect')));
  // The last of them are dropped; who comes now gets no answer either.
  await expect(ask(mine.socket, 'elsewhere.test')).rejects.toThrow();
  expect(await ask(other.socket, 'elsewhere.test')).toBe(403);
  for (const socket of taken) socket.destroy();
  for (const door of [mine, again, other]) door.release();
  await doors.close();
  expect(await readdir(join(folder, 'net'))).toEqual([]);
});

test('a host that is refused is told once, so many of them, and of the rest how often', async () => {
  const door = await doors.open(RULES, 'a');
  for (let at = 0; at < 3; at++) await ask(door.socket, 'same.test');
  for (let at = 0; at < 60; at++) await ask(door.socket, `h${at}.test`);
  expect(lines).toHaveLength(50);
  expect(lines.slice(0, 2)).toMatchObject([{ host: 'same.test' }, { host: 'h0.test' }]);
  await doors.close();
  expect(lines.slice(50)).toEqual([{ times: 13 }]);
});
