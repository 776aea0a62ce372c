// The client library as programs get it: from the package, with its types, and as the example uses it.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { Heddle } from '../../src/client/heddle.ts';
import { EXECUTABLE, scratch, serve } from './executable.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('the example runs a turn and leaves', () => {
  const home = scratch();
  const heddle = join(home, 'heddle');
  writeFileSync(heddle, `#!/bin/sh\nexec '${process.execPath}' '${EXECUTABLE}' "$@"\n`);
  chmodSync(heddle, 0o755);
  const example = join(ROOT, 'examples/node-client.mjs');
  const { stdout, stderr, status } = spawnSync(process.execPath, [example, 'say Hello to you'], {
    env: { PATH: `${home}:${process.env.PATH}`, HOME: home },
    encoding: 'utf8',
  });
  expect(stderr).toBe('[userMessage]\n[agentMessage]\n');
  expect(stdout).toBe('Hello to you\ncompleted\n');
  expect(status).toBe(0);
  const code = readFileSync(example, 'utf8');
  expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(20);
  expect(readFileSync(join(ROOT, 'docs/client.md'), 'utf8')).toContain(code.slice(code.indexOf('import')));
});

test('the file for pages needs no other', async () => {
  const file = join(ROOT, 'dist/client/browser.js');
  expect(readFileSync(file, 'utf8')).not.toMatch(/\bfrom\s*['"]|\bimport\s*[('"]/);
  const { connect } = (await import(file)) as { connect: (options: object) => Promise<unknown> };
  const socketClass = WebSocket;
  const { program, address: url } = await serve(['--listen', 'ws://127.0.0.1:0', '--data-dir', scratch()]);
  const [, tokenFile] = await program.said('stderr', /token file: (.+)\n/);
  const token = readFileSync(tokenFile!, 'utf8').trim();
  const client = (await connect({ name: 'page', version: '1', url, token, socketClass })) as Heddle;
  const thread = await client.thread({ cwd: scratch() });
  let text = '';
  for await (const piece of thread.turn('say Hello page').text()) text += piece;
  expect(text).toBe('Hello page');
  await client.close();
});

const RIGHT = `
import { connect as connectWeb } from 'heddle/client';
import { connect, protocol, type News, type RequestParams } from 'heddle/client/node';
const client = await connect({ name: 'n', version: '1', socket: '/s' });
const { thread } = await client.request('thread/read', { threadId: 't' });
const name: string | null = thread.name;
const { turnId } = await client.request(protocol.requests.turnSteer, { threadId: 't', expectedTurnId: 'u', input: [] });
const id: string = turnId;
for await (const news of client.notifications('item/agentMessage/delta', 'client/gap'))
  if (news.method === 'client/gap') console.log(news.params.headSeq + 1);
  else console.log(news.params.delta.length);
client.onServerRequest('item/fileChange/requestApproval', ({ reason }) => ({ decision: reason ? 'accept' : 'decline' }));
export const all: { name: string | null; id: string; news?: News; params?: RequestParams<'turn/start'> } = { name, id };
export const page = await connectWeb({ name: 'n', version: '1', url: 'wss://example.org' });
`;

const WRONG = `
import { connect } from 'heddle/client/node';
const client = await connect({ name: 'n', version: '1', socket: '/s' });
void client.request('thread/nothing', {});
void client.request('thread/read', { threadId: 7 });
void client.notifications('no/such');
client.onServerRequest('item/fileChange/requestApproval', () => ({ decision: 'perhaps' }));
void connect({ name: 'n', version: '1', socket: '/s', url: 'ws://x' });
`;

test('the types of the package tell right from wrong', () => {
  const folder = scratch();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/heddle'));
  symlinkSync(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'right.ts'), RIGHT);
  writeFileSync(join(folder, 'wrong.ts'), WRONG);
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8', cwd: folder });
  const places = [...stdout.matchAll(/^(\w+)\.ts\((\d+),/gm)].map(([, file, line]) => `${file}:${line}`);
  expect([...new Set(places)], stdout).toEqual(['wrong:4', 'wrong:5', 'wrong:6', 'wrong:7', 'wrong:8']);
});
