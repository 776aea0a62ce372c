// The profile for macOS as text; that it holds can only be tried there.

import { describe, expect, it } from 'vitest';
import { seatbeltProfile } from '../../../src/sandbox/seatbelt.ts';

const layout = {
  cwd: '/w',
  writable: ['/w "x"'],
  workspace: [],
  pinned: ['/w "x"/between'],
  reserved: ['/w "x"/.git', '/w "x"/.agents'],
  protected: ['/w "x"/.git'],
  hidden: [{ path: '/data', isFolder: true }],
  tmpdir: undefined,
  shown: undefined,
};
const policy = {
  writableRoots: [],
  workspace: [],
  hidden: [],
  network: false,
  excludeTmpdir: false,
  excludeSlashTmp: true,
} as const;

describe('seatbeltProfile', () => {
  it('denies writes first, allows the roots, then protects and hides, in this order, with paths quoted', () => {
    const lines = seatbeltProfile({ ...policy, mode: 'workspace-write' }, layout).split('\n');
    const order = [
      '(deny file-write*)',
      '(allow file-write* (subpath "/w \\"x\\""))',
      '(deny file-write* (subpath "/w \\"x\\"/.git"))',
      '(deny file-read* file-write* (subpath "/data"))',
      '(deny network*)',
    ].map((line) => lines.indexOf(line));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).not.toContain(-1);
  });

  it('leaves the network alone when it is allowed', () => {
    expect(seatbeltProfile({ ...policy, mode: 'read-only', network: true }, layout)).not.toContain('network');
  });
});
