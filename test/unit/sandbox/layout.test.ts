// What a policy comes to on this machine, and which policies no command may run under.

import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { layoutOf } from '../../../src/sandbox/layout.ts';
import { readPatterns } from '../../../src/sandbox/pattern.ts';
import { KnownPlaces } from '../../../src/sandbox/places.ts';
import type { SandboxPolicy } from '../../../src/sandbox/policy.ts';
import { PrivateFolders } from '../../../src/sandbox/private-folders.ts';

const privates = new PrivateFolders(['/run', '/tmp']);
let base: string;
let root: string;
let known: KnownPlaces;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(homedir(), '.heddle-test-')));
  root = folder('root');
  known = new KnownPlaces();
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

function folder(...names: string[]): string {
  const path = join(base, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}

function layout(changes: Partial<SandboxPolicy> = {}, cwd = root) {
  const policy: SandboxPolicy = {
    mode: 'workspace-write',
    writableRoots: [root],
    workspace: [root],
    network: false,
    hidden: [],
    excludeTmpdir: false,
    excludeSlashTmp: false,
    ...changes,
  };
  return layoutOf(policy, cwd, known, privates);
}

const refused = (why: RegExp) => ({ kind: 'forbidden', message: expect.stringMatching(why) });

describe('roots', () => {
  it('keep the meaning of their first use, and may be made anew where they were', async () => {
    const elsewhere = folder('elsewhere');
    await layout();
    rmSync(root, { recursive: true });
    folder('root');
    await layout();
    rmSync(root, { recursive: true });
    symlinkSync(elsewhere, root);
    await expect(layout()).rejects.toMatchObject(refused(/no longer leads where it did/));
  });

  it('may not appear later as a link', async () => {
    const later = join(base, 'later');
    expect((await layout({ writableRoots: [root, later] })).writable).toEqual([root]);
    symlinkSync(folder('elsewhere'), later);
    await expect(layout({ writableRoots: [root, later] })).rejects.toMatchObject(refused(/no longer leads/));
  });

  it('lead where they led when they were chosen, whatever is remembered', async () => {
    const link = join(base, 'link');
    symlinkSync(root, link);
    const workspace = { writableRoots: [link], workspace: [link] };
    await layout({ ...workspace, places: { [link]: root } });
    await expect(layout({ ...workspace, places: {} })).rejects.toMatchObject(refused(/no longer leads/));
  });

  it('may not be reached through a link inside another writable folder, even at first', async () => {
    const link = join(root, 'link');
    symlinkSync(folder('elsewhere'), link);
    await expect(layout({ writableRoots: [root, link] })).rejects.toMatchObject(refused(/leads through a link/));
    await expect(layout({ tmpdir: link })).rejects.toMatchObject(refused(/leads through a link/));
  });

  it('are pinned with all folders between them', async () => {
    const inner = folder('root', 'a', 'b', 'c');
    const { pinned } = await layout({ writableRoots: [inner, root] });
    expect([...pinned].sort()).toEqual([join(root, 'a'), join(root, 'a/b')]);
  });
});

describe('hidden paths', () => {
  it('are pinned below a root, but nothing inside of them is', async () => {
    const data = folder('root', 'app', 'data');
    const tree = folder('root', 'app', 'data', 'trees', 'one');
    const { pinned, hidden } = await layout({ writableRoots: [root, tree], hidden: [data] });
    expect(hidden).toEqual([{ path: data, isFolder: true }]);
    expect(pinned).toEqual([join(root, 'app')]);
  });

  it('that are matched by a pattern are pinned as well, wherever below they would be matched', async () => {
    const key = join(folder('root', 'a', 'b'), 'one.key');
    writeFileSync(key, 'key');
    const patterns = { all: readPatterns('**/*.key', root), depth: Number.POSITIVE_INFINITY };
    const { pinned, hidden } = await layout({ patterns });
    expect(hidden).toEqual([{ path: key, isFolder: false }]);
    expect([...pinned].sort()).toEqual([join(root, 'a'), join(root, 'a/b')]);
  });

  it('directly below a root need no pin: a home folder with the data directory in it is a workspace', async () => {
    expect((await layout({ hidden: [folder('root', '.heddle')] })).pinned).toEqual([]);
  });

  it('may not be missing, nor be another folder than before', async () => {
    const data = folder('root', 'data');
    await layout({ hidden: [data] });
    renameSync(data, join(base, 'moved'));
    await expect(layout({ hidden: [data] })).rejects.toMatchObject(refused(/is missing/));
    folder('root', 'data');
    await expect(layout({ hidden: [data] })).rejects.toMatchObject(refused(/no longer the folder that it was/));
  });

  it('are none where nothing of them could be seen', async () => {
    expect((await layout({ hidden: ['/tmp/not-there/socket'] })).hidden).toEqual([]);
    expect((await layout({ mode: 'read-only', hidden: ['/run/not-there/socket'] })).hidden).toEqual([]);
  });

  it('may be replaced when they are files', async () => {
    const token = join(root, 'token');
    writeFileSync(token, 'one');
    await layout({ hidden: [token] });
    rmSync(token);
    writeFileSync(token, 'two');
    expect((await layout({ hidden: [token] })).hidden).toEqual([{ path: token, isFolder: false }]);
  });
});

describe('protected names', () => {
  it('refuse a link, which a command could replace', async () => {
    symlinkSync(folder('repository'), join(root, '.git'));
    await expect(layout()).rejects.toMatchObject(refused(/is a link/));
  });

  it('do not open what is hidden', async () => {
    const data = folder('root', 'data', 'repository');
    writeFileSync(join(root, '.git'), `gitdir: ${data}\n`);
    expect((await layout({ hidden: [join(root, 'data')] })).protected).toEqual([join(root, '.git')]);
  });

  it('refuse a repository that a file names and a command could make', async () => {
    writeFileSync(join(root, '.git'), 'gitdir: store\n');
    await expect(layout()).rejects.toMatchObject(refused(/names a repository that is missing/));
  });

  it('are not opened by what leads to something hidden in them', async () => {
    const data = folder('root', '.heddle', 'deep', 'data');
    expect((await layout({ hidden: [data] })).pinned).toEqual([]);
  });
});

describe('private folders', () => {
  it('show a workspace in them and nothing beside it', async () => {
    const inTmp = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-workspace-')));
    const beside = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-beside-')));
    try {
      const reading = { mode: 'read-only', workspace: [inTmp] } as const;
      expect((await layout(reading, inTmp)).workspace).toEqual([inTmp]);
      await expect(layout(reading, beside)).rejects.toMatchObject(refused(/outside of the workspace/));
      symlinkSync(beside, join(inTmp, 'link'));
      await expect(layout(reading, join(inTmp, 'link'))).rejects.toMatchObject(refused(/outside of the workspace/));
      expect((await layout(reading, '/tmp')).cwd).toBe('/tmp');
    } finally {
      for (const path of [inTmp, beside]) rmSync(path, { recursive: true });
    }
  });

  it('refuse folders of sockets, except for sockets that came later', async () => {
    const inTmp = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-workspace-')));
    const server = createServer();
    try {
      const socket = join(inTmp, 'socket');
      await new Promise<void>((resolve) => server.listen(socket, resolve));
      const changes = { writableRoots: [inTmp], workspace: [inTmp] };
      await expect(layout(changes, inTmp)).rejects.toMatchObject(refused(/holds the socket/));
      await layout({ ...changes, hidden: [socket] }, inTmp);
      await layout(changes, inTmp);
    } finally {
      server.close();
      rmSync(inTmp, { recursive: true });
    }
    for (const path of ['/run', '/tmp'])
      await expect(layout({ workspace: [path] }, path)).rejects.toMatchObject(refused(/cannot be a workspace/));
  });
});
