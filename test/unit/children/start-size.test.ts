// What a program may be told at its start: the bounds are those of the system, and none is passed by a byte.

import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { checkStartSize } from '../../../src/children/start-size.ts';

const told =
  (argv: readonly string[], env: Record<string, string | null> = {}) =>
  () =>
    checkStartSize({ argv, env });
const repeated = (count: number, text = '') => Array.from({ length: count }, () => text);

test('one text has 128 KiB with its end, as the system has it', () => {
  const most = 'x'.repeat(128 * 1024 - 1);
  expect(told(['true', most], { V: most.slice(2) })).not.toThrow();
  expect(told(['true', `${most}x`])).toThrow('argument 1 has more than 131072 bytes');
  expect(told(['true'], { V: most.slice(1) })).toThrow('variable V has more than 131072 bytes');
  expect(told(['true', 'ü'.repeat(64 * 1024)])).toThrow('argument 1');
  if (process.platform !== 'linux') return console.warn('not on Linux: the bound of the system is not tried');
  expect(spawnSync('/bin/true', [most]).status).toBe(0);
  expect(spawnSync('/bin/true', [`${most}x`]).error).toMatchObject({ code: 'E2BIG' });
});

test('all of them have 2 MiB, counted with their pointers', () => {
  expect(told(repeated(233_016))).not.toThrow();
  expect(told(repeated(233_017))).toThrow('more than 233016 arguments');
  expect(told(repeated(200, 'x'.repeat(10_000)))).not.toThrow();
  expect(told(repeated(210, 'x'.repeat(10_000)))).toThrow('2097152 bytes together');
});

test('variables that are taken away have no size', () => {
  const env = Object.fromEntries(repeated(250_000).map((_, at) => [`V${at}`, null]));
  expect(told(['true'], env)).not.toThrow();
});
