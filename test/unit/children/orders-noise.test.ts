// What the helper's runtime prints between the helper's own lines is passed over and logged.

import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { type Log, silentLog } from '../../../src/base/log.ts';
import { MARK_VARIABLE } from '../../../src/children/marks.ts';
import { Orders } from '../../../src/children/orders.ts';

const pipe = () => Object.assign(new PassThrough(), { ref() {}, unref() {} });

it.each(['Warning: something of the runtime', '{"pid":', '7', 'null', '"text"', ''])(
  'passes over the line %j and takes the next one',
  async (noise) => {
    const warned: object[] = [];
    const log = { debug() {}, info() {}, error() {}, warn: (about: object) => void warned.push(about) } satisfies Log;
    const output = pipe();
    const orders = new Orders(new PassThrough(), output, { goOn() {}, unmarked() {}, log });
    output.write(`${noise}\n{"ready":true}\n`);
    await new Promise(setImmediate);
    expect(orders.isReady).toBe(true);
    expect(warned).toEqual([{ line: noise }]);

    const starting = orders.start({
      file: '/bin/true',
      argv: [],
      cwd: '/',
      env: { [MARK_VARIABLE]: 'm' },
      descriptors: [],
    });
    output.write(`${noise}\n{"id":0,"pid":4194305,"start":"1"}\n{"id":0,"code":3,"signal":null}\n`);
    const launched = await starting;
    expect('pid' in launched && (await launched.exited)).toEqual({ code: 3, signal: null });
  },
);

it('tells whoever wants to know that the helper cannot mark for good', async () => {
  const reasons: string[] = [];
  const output = pipe();
  const unmarked = (reason: string) => void reasons.push(reason);
  const orders = new Orders(new PassThrough(), output, { goOn() {}, unmarked, log: silentLog() });
  output.write('{"ready":true}\n{"unmarked":"the limit cannot be set"}\n');
  await new Promise(setImmediate);
  expect(reasons).toEqual(['the limit cannot be set']);
  expect(orders.isReady).toBe(true);
});

it('logs no more than the beginning of a long line', async () => {
  const warned: object[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (about: object) => void warned.push(about) } satisfies Log;
  const output = pipe();
  new Orders(new PassThrough(), output, { goOn() {}, unmarked() {}, log });
  output.write(`${'x'.repeat(5_000)}\n`);
  await new Promise(setImmediate);
  expect(warned).toEqual([{ line: 'x'.repeat(200) }]);
});
