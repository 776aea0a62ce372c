// What is told of the repository that a folder lies in, read from its files.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gitInfoOf } from '../../../src/fs/git-info.ts';

const SHA = 'a'.repeat(40);
const OTHER = 'b'.repeat(40);

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-git-')));
});

afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function folder(path: string): string {
  mkdirSync(join(root, path), { recursive: true });
  return join(root, path);
}

function repository(path: string, branch: string, sha: string): void {
  write(`${path}/.git/HEAD`, `ref: refs/heads/${branch}\n`);
  write(`${path}/.git/refs/heads/${branch}`, `${sha}\n`);
}

describe('the repository of a folder', () => {
  it('is the innermost one around it', async () => {
    repository('outer', 'main', SHA);
    repository('outer/vendor/inner', 'topic', OTHER);
    expect(await gitInfoOf(folder('outer/vendor/inner/src/deep'))).toMatchObject({ branch: 'topic', sha: OTHER });
    expect(await gitInfoOf(folder('outer/vendor'))).toMatchObject({ branch: 'main', sha: SHA });
  });

  it('is found from a working tree whose repository lies elsewhere', async () => {
    repository('main', 'main', SHA);
    write('main/.git/worktrees/tree/HEAD', 'ref: refs/heads/topic\n');
    write('main/.git/worktrees/tree/commondir', '../..\n');
    write('main/.git/refs/heads/topic', `${OTHER}\n`);
    write('tree/.git', `gitdir: ${join(root, 'main/.git/worktrees/tree')}\n`);
    expect(await gitInfoOf(folder('tree/src'))).toMatchObject({ branch: 'topic', sha: OTHER });
  });

  it('has an address without the password in it, and a commit without a branch', async () => {
    write('one/.git/HEAD', `${SHA}\n`);
    write('one/.git/config', '[remote "origin"]\n\turl = https://me:secret@example.org/one.git\n');
    expect(await gitInfoOf(folder('one'))).toEqual({
      sha: SHA,
      branch: null,
      originUrl: 'https://example.org/one.git',
    });
  });

  it('is not a file that names no repository, nor what lies around it', async () => {
    repository('outer', 'main', SHA);
    write('outer/inner/.git', 'something else');
    expect(await gitInfoOf(folder('outer/inner'))).toBeUndefined();
  });

  it('is nothing where the folder does not exist', async () => {
    expect(await gitInfoOf(join(root, 'missing'))).toBeUndefined();
  });

  it('is read within bounds, however large or odd its files are', async () => {
    repository('large', 'main', SHA);
    write('large/.git/config', `[remote "origin"]\n${'\n'.repeat(300_000)}\turl = x${' '.repeat(300_000)}y\n`);
    write('large/.git/HEAD', 'ref: refs/heads/packed\n');
    write('large/.git/packed-refs', `${SHA} refs/heads/packed\n`);
    expect(await gitInfoOf(folder('large'))).toMatchObject({ sha: SHA, originUrl: expect.stringMatching(/^x +y$/) });
    truncateSync(join(root, 'large/.git/packed-refs'), 2 ** 31 - 1);
    expect(await gitInfoOf(folder('large'))).toMatchObject({ branch: 'packed', sha: null });
  });

  it('tells nothing of what may not be read, wherever links and files lead', async () => {
    repository('theirs', 'private', SHA);
    write('theirs/.git/config', '[remote "origin"]\n\turl = https://example.org/private.git\n');
    write('mine/tree/.git', `gitdir: ${join(root, 'theirs/.git')}\n`);
    folder('mine/linked/.git');
    for (const name of ['HEAD', 'config', 'refs'])
      symlinkSync(join(root, 'theirs/.git', name), join(root, 'mine/linked/.git', name));
    const mine = async (real: string) => real.startsWith(join(root, 'mine/'));
    const nothing = { sha: null, branch: null, originUrl: null };
    for (const name of ['tree', 'linked']) {
      expect(await gitInfoOf(folder(`mine/${name}`), mine)).toEqual(nothing);
      expect(await gitInfoOf(folder(`mine/${name}`))).toMatchObject({ sha: SHA, branch: 'private' });
    }
  });
});
