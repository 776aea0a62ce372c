// Folders that stand in for what must not be made: counted by their users, gone with the last.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Placeholders } from '../../../src/sandbox/placeholders.ts';

let base: string;
let path: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'heddle-test-'));
  path = join(base, '.git');
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

it('stands until its last user has gone', () => {
  const placeholders = new Placeholders();
  expect(placeholders.hold([path])).toEqual([path]);
  expect(placeholders.hold([path])).toEqual([path]);
  placeholders.release([path]);
  expect(existsSync(path)).toBe(true);
  placeholders.release([path]);
  expect(existsSync(path)).toBe(false);
});

it('leaves alone what is there, and what somebody has filled meanwhile', () => {
  const placeholders = new Placeholders();
  mkdirSync(path);
  expect(placeholders.hold([path])).toEqual([]);
  rmSync(path, { recursive: true });
  placeholders.release(placeholders.hold([path]));
  placeholders.hold([path]);
  writeFileSync(join(path, 'HEAD'), '');
  placeholders.release([path]);
  expect(existsSync(join(path, 'HEAD'))).toBe(true);
});

it('takes back what it has made when it cannot make all', () => {
  const placeholders = new Placeholders();
  expect(() => placeholders.hold([path, join(base, 'missing', '.git')])).toThrow('has to be kept from commands');
  expect(existsSync(path)).toBe(false);
});
