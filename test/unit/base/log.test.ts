// The log: what is written of what is told, in which order, and in which form.

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog, silentLog } from '../../../src/base/log.ts';

let folder: string;
let file: string;
let fd: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-log-'));
  file = join(folder, 'log');
  fd = openSync(file, 'a');
});

afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

const lines = () =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Resolves when there are so many lines. */
function written(count: number): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (lines().length < count) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(file, look);
    look();
  });
}

describe('a log', () => {
  it('keeps the order of what is told before and after it has loaded what writes', async () => {
    const log = createLog({ level: 'info', fd });
    log.warn({ n: 1 }, 'first');
    log.info({ n: 2 }, 'second');
    await written(2);
    log.error({ n: 3 }, 'third');
    expect(lines().map(({ n, msg }) => [n, msg])).toEqual([
      [1, 'first'],
      [2, 'second'],
      [3, 'third'],
    ]);
  });

  it('leaves out what is below its level', async () => {
    const log = createLog({ level: 'warn', fd });
    log.info({}, 'not this');
    log.debug({}, 'nor this');
    log.warn({}, 'this');
    await written(1);
    log.info({}, 'nor now');
    log.error({}, 'and this');
    expect(lines().map(({ msg }) => msg)).toEqual(['this', 'and this']);
  });

  it('writes an error with its text and where it came from', async () => {
    const log = createLog({ fd });
    log.error({ err: new TypeError('broken') }, 'it failed');
    await written(1);
    expect(lines()).toMatchObject([
      {
        level: 50,
        err: { type: 'TypeError', message: 'broken', stack: expect.stringContaining('log.test') },
      },
    ]);
  });

  it('writes nothing when it is to be silent', () => {
    const log = silentLog();
    expect(log.error({ err: new Error('unheard') }, 'nobody hears')).toBeUndefined();
    expect(lines()).toEqual([]);
  });
});
