// What a shared server is told of a client, in the client's own words.

import { text } from 'node:stream/consumers';
import { expect, it, vi } from 'vitest';
import { type AboutClient, tellingServer, withAbout } from '../../../src/cli/first-line.ts';

const ABOUT = { cwd: '/home/me', settings: ['sandbox_mode="read-only"'] };
const INITIALIZE = '{"id":0,"method":"initialize","params":{"clientInfo":{"name":"a","version":"1"}}}';

/** What arrives when the client says these pieces. */
async function passed(pieces: readonly string[], about: AboutClient = ABOUT) {
  const untold = vi.fn();
  const through = tellingServer(about, untold);
  for (const piece of pieces) through.write(piece);
  through.end();
  return { lines: (await text(through)).split('\n'), untold };
}

const told = (line: string | undefined) => JSON.parse(line ?? 'null').params.heddle;

it('is put into the first initialize, in whatever pieces it comes, and the rest passes as it is', async () => {
  const rest = '{"id":12345678901234567890,"method":"thread/start","params":{}}';
  const pieces = [INITIALIZE.slice(0, 20), `${INITIALIZE.slice(20)}\n${rest.slice(0, 9)}`, `${rest.slice(9)}\n`];
  const { lines, untold } = await passed(pieces);
  expect(told(lines[0])).toEqual(ABOUT);
  expect(lines.slice(1)).toEqual([rest, '']);
  expect(untold).not.toHaveBeenCalled();
});

it('is told also behind lines that are no initialize, and to the next try of one that was refused', async () => {
  const { lines } = await passed(['{"id":1,"method":"thread/list"}\nnoise\n', `${INITIALIZE}\n${INITIALIZE}\n`]);
  expect(lines.slice(0, 2)).toEqual(['{"id":1,"method":"thread/list"}', 'noise']);
  expect([told(lines[2]), told(lines[3])]).toEqual([ABOUT, ABOUT]);
});

it('leaves a later initialize alone', async () => {
  const { lines } = await passed([`${INITIALIZE}\n{"method":"initialized"}\n${INITIALIZE}\n`]);
  expect(lines[2]).toBe(INITIALIZE);
});

it('goes before what the client says itself of the same', () => {
  const own = '{"id":0,"method":"initialize","params":{"clientInfo":{},"heddle":{"cwd":"/elsewhere"}}}';
  expect(told(withAbout(own, ABOUT))).toEqual({ ...ABOUT, cwd: '/elsewhere' });
});

it.each([
  ['over a WebSocket', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['without params', '{"id":0,"method":"initialize"}\n'],
])('says when it cannot be told: %s', async (_how, said) => {
  const { lines, untold } = await passed([said]);
  expect(lines.join('\n')).toBe(said);
  expect(untold).toHaveBeenCalledOnce();
});

it('does not wait for the end of a line that nobody would read', async () => {
  const long = 'x'.repeat(1024 * 1024 + 1);
  const through = tellingServer(ABOUT, () => {});
  through.write(long);
  expect(through.read()?.length).toBe(long.length);
  through.write(`tail\n${INITIALIZE}\n`);
  const [tail, line] = String(through.read()).split('\n');
  expect(tail).toBe('tail');
  expect(told(line)).toEqual(ABOUT);
});
