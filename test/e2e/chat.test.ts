// `heddle chat` on a real terminal: turns, questions, Ctrl-C, the end, and going on with a thread.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run, scratch } from './executable.ts';
import { Terminal } from './terminal.ts';

const chatOn = (data: string, ...args: readonly string[]): Terminal =>
  new Terminal(['chat', '--backend', 'mock', '--data-dir', data, ...args]);

const PROMPT = /> $/;
const MCP_SERVER = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));

test('each line is a turn, and the thread can be gone on with', async () => {
  const data = scratch();
  const chat = chatOn(data);
  await chat.shown(PROMPT);
  chat.type('say Good morning\r');
  await chat.shown(/Good morning\r\n> $/);
  chat.type('run printf found\r');
  await chat.shown(/\$ .*printf found[\s\S]*found[\s\S]*Done\.\r\n> $/);
  chat.type('/quit\r');
  const [, thread] = /--thread (\S+)/.exec(await chat.shown(/--thread \S+ --data-dir \S+\r\n/)) as RegExpExecArray;
  expect(await chat.ended).toBe(0);
  const again = chatOn(data, '--thread', thread as string);
  await again.shown(/> say Good morning\r\nGood morning\r\n[\s\S]*> $/);
  again.type('\u0004');
  expect(await again.ended).toBe(0);
});

test('an approval is asked in between, and answered by a key', async () => {
  const chat = chatOn(scratch());
  await chat.shown(PROMPT);
  chat.type('run! echo outside\r');
  await chat.shown(/\[y\] yes[\s\S]*: $/);
  chat.type('n\r');
  await chat.shown(/declined: it did not run[\s\S]*> $/);
  chat.type('run! echo outside\r');
  await chat.shown(/\[y\] yes[\s\S]*: $/);
  chat.type('y\r');
  await chat.shown(/outside\r\n[\s\S]*Done\.\r\n> $/);
});

test('always keeps a rule: what it covers is not asked about again, in another conversation neither', async () => {
  const data = scratch();
  const chat = chatOn(data);
  await chat.shown(PROMPT);
  chat.type('run! echo outside\r');
  await chat.shown(/\[a\] yes, and always what begins with: [\s\S]*\[n\] no[\s\S]*: $/);
  chat.type('always\r');
  await chat.shown(/outside\r\n[\s\S]*Done\.\r\n> $/);
  chat.type('/quit\r');
  expect(await chat.ended).toBe(0);
  const again = chatOn(data);
  await again.shown(PROMPT);
  again.type('run! echo outside\r');
  expect(await again.shown(/outside\r\n[\s\S]*Done\.\r\n> $/)).not.toContain('approval:');
});

test('a form of an MCP server is filled in field by field, and an address is shown with where it leads', async () => {
  const data = scratch();
  const server = (manner: string) => ({ command: process.execPath, args: [MCP_SERVER, manner], required: true });
  const config = { mcp_servers: { forms: server('asks'), tickets: server('visits') } };
  writeFileSync(join(data, 'config.yaml'), JSON.stringify(config));
  const chat = chatOn(data);
  await chat.shown(PROMPT);
  chat.type('call mcp__forms__ask {}\r');
  await chat.shown(/The MCP server forms asks:[\s\S]*age: a whole number[\s\S]*\[y\] fill it in[\s\S]*: $/);
  chat.type('y\r');
  await chat.shown(/name: $/);
  chat.type('Ann\r');
  await chat.shown(/age: $/);
  chat.type('none\r');
  await chat.shown(/it has to be a number\r\nage: $/);
  chat.type('3\r');
  await chat.shown(/would be sent[\s\S]*name: Ann[\s\S]*age: 3[\s\S]*\[y\] send it[\s\S]*: $/);
  chat.type('y\r');
  await chat.shown(/Done\.\r\n> $/);
  chat.type('call mcp__tickets__visit {}\r');
  await chat.shown(/https:\/\/tickets\.example\/sign-in\?state=1[\s\S]*It leads to tickets\.example\r\n[\s\S]*: $/);
  chat.type('c\r');
  await chat.shown(/Done\.\r\n> $/);
  chat.type('/quit\r');
  const [, thread] = /--thread (\S+)/.exec(await chat.shown(/--thread \S+ --data-dir \S+\r\n/)) as RegExpExecArray;
  const { stdout } = await run(['threads', 'export', thread as string, '--data-dir', data]);
  const results = stdout
    .split('\n')
    .flatMap((line) => (line.includes('item/completed') ? [JSON.parse(line).params.item] : []))
    .filter(({ type }) => type === 'mcpToolCall')
    .map(({ result }) => JSON.parse(result.content[0].text));
  expect(results).toEqual([{ action: 'accept', content: { name: 'Ann', age: 3 } }, { action: 'cancel' }]);
});

test('questions that come while a line is typed put it away, and give it back when all are answered', async () => {
  const data = scratch();
  const forms = { command: process.execPath, args: [MCP_SERVER, 'asks'], required: true };
  writeFileSync(join(data, 'config.yaml'), JSON.stringify({ mcp_servers: { forms } }));
  const chat = chatOn(data);
  await chat.shown(PROMPT);
  const sign = join(data, 'sign');
  chat.type(`call mcp__forms__ask-at-a-sign ${JSON.stringify({ file: sign })}\r`);
  await chat.shown(/Done\.\r\n> $/);
  chat.type('say half a');
  await chat.shown(/say half a$/);
  writeFileSync(sign, '');
  await chat.shown(/^\r+\n\r+\nThe MCP server forms asks:\r\n {4}First\?[\s\S]*: $/);
  chat.type('y\r');
  const rest = await chat.shown(/Third\?[\s\S]*: $/);
  expect(rest).not.toContain('> ');
  chat.type('n\r');
  await chat.shown(/> say half a$/);
  chat.type(' line\r');
  await chat.shown(/\r\nhalf a line\r\n[\s\S]*> $/);
});

test('Ctrl-C stops what runs, and ends the conversation where nothing does', async () => {
  const chat = chatOn(scratch());
  await chat.shown(PROMPT);
  chat.type('say 100000 words at 50 a second\r');
  await chat.shown(/a second[\r\n]+(\w+ ){3}/);
  chat.type('\u0003');
  await chat.shown(/the turn was interrupted\r\n> $/);
  chat.type('\u0003');
  await chat.shown(/--thread \S+/);
  expect(await chat.ended).toBe(0);
});

test('without a terminal it says what to use instead', async () => {
  const { code, stderr } = await run(['chat', '--data-dir', scratch()]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('heddle exec') });
});
