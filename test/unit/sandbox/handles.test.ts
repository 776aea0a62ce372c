// Handles on folders: taken only where the path is what it was said to be.

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Handles } from '../../../src/sandbox/handles.ts';

const isLinux = process.platform === 'linux';
if (!isLinux) console.warn('SKIPPED: handles on folders are taken on Linux only');

let base: string;
let handles: Handles;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-test-')));
  handles = new Handles(4);
});

afterEach(() => {
  handles.close();
  rmSync(base, { recursive: true, force: true });
});

describe.skipIf(!isLinux)('handles', () => {
  it('are numbered as the program will find them, and are closed once', () => {
    mkdirSync(join(base, 'one'));
    expect([handles.take(base), handles.take(join(base, 'one'))]).toEqual([4, 5]);
    const open = handles.descriptors.map((descriptor) => `/proc/self/fd/${descriptor}`);
    expect(open.every(existsSync)).toBe(true);
    handles.close();
    handles.close();
    expect(handles.descriptors).toEqual([]);
  });

  it('refuse a path that has become a link, or is gone', () => {
    symlinkSync(base, join(base, 'link'));
    expect(() => handles.take(join(base, 'link'))).toThrow('is being turned elsewhere');
    expect(() => handles.take(join(base, 'gone'))).toThrow('cannot be held (ENOENT)');
  });

  it('are not taken for a program that could not use them', () => {
    expect(new Handles(undefined).take(base)).toBeUndefined();
  });
});
