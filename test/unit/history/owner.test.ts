// One server on a data directory: the lock, what the second one is told, and what outlives a kill.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isOwned, readOwner, takeOwnership } from '../../../src/history/owner.ts';

interface Said {
  readonly taken?: string;
  readonly kind?: string;
  readonly message?: string;
  readonly data?: { readonly pid?: number; readonly startedAt?: string; readonly endpoints?: readonly string[] };
}

describe('ownership of a data directory', () => {
  let base: string;
  let directory: string;
  let children: ChildProcess[];

  beforeEach(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'heddle-owner-')));
    directory = join(base, 'data');
    children = [];
  });
  afterEach(async () => {
    for (const child of children) if (child.exitCode === null && child.signalCode === null) await end(child);
    await rm(base, { recursive: true });
  });

  const end = async (child: ChildProcess) => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  const start = async (path: string, endpoint: string): Promise<{ child: ChildProcess; said: Said }> => {
    const program = fileURLToPath(new URL('owner-child.mts', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', program, path, endpoint], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [string];
    return { child, said: JSON.parse(line) as Said };
  };
  const snapshot = async () =>
    Promise.all(
      (await readdir(directory)).sort().map(async (name) => {
        const path = join(directory, name);
        return [name, (await stat(path)).mtimeMs, await readFile(path, 'utf8')];
      }),
    );

  it('makes the directory private and says who runs there', async () => {
    const owner = await takeOwnership({ directory, version: '1' });
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    await owner.announce({ endpoints: ['unix:///s'] });
    await owner.announce({ endpoints: ['unix:///s', 'ws://127.0.0.1:1'], tokenFile: '/t' });
    expect((await stat(join(directory, 'owner.json'))).mode & 0o777).toBe(0o600);
    const info = await readOwner(directory);
    expect(info).toMatchObject({ pid: process.pid, version: '1', tokenFile: '/t' });
    expect(info?.endpoints).toEqual(['unix:///s', 'ws://127.0.0.1:1']);
    expect(new Date(info?.startedAt as string).toISOString()).toBe(info?.startedAt);
    expect(await isOwned(directory)).toBe(true);
    await owner.close();
    await owner.close();
    expect(await isOwned(directory)).toBe(false);
    expect(await readOwner(directory)).toBeUndefined();
  });

  it('refuses a second owner in the same process too (BC-19a)', async () => {
    const owner = await takeOwnership({ directory, version: '1' });
    await owner.announce({ endpoints: ['unix:///s'] });
    await expect(takeOwnership({ directory, version: '1' })).rejects.toMatchObject({
      kind: 'unavailable',
      data: { pid: process.pid, endpoints: ['unix:///s'] },
    });
    await owner.close();
    await (await takeOwnership({ directory, version: '1' })).close();
  });

  it('tells the second process who has it, changes nothing, and sees through a symbolic link (BC-19a,f)', async () => {
    const first = await start(directory, 'ws://127.0.0.1:4500');
    expect(first.said.taken).toBe(directory);
    const link = join(base, 'link');
    await symlink(directory, link);
    const before = await snapshot();
    const { startedAt } = (await readOwner(directory)) as { startedAt: string };
    for (const path of [directory, link]) {
      const second = await start(path, 'ws://127.0.0.1:4501');
      expect(second.said).toMatchObject({
        kind: 'unavailable',
        data: { pid: first.child.pid, startedAt, endpoints: ['ws://127.0.0.1:4500'] },
      });
      for (const word of [String(first.child.pid), startedAt, 'ws://127.0.0.1:4500', directory])
        expect(second.said.message).toContain(word);
    }
    expect(await snapshot()).toEqual(before);
    expect(await isOwned(link)).toBe(true);
  });

  it('lets exactly one of many win (BC-19b)', async () => {
    const started = await Promise.all(Array.from({ length: 8 }, (_, index) => start(directory, `unix:///s${index}`)));
    const winners = started.filter(({ said }) => said.taken !== undefined);
    expect(winners).toHaveLength(1);
    const pids = new Set(started.filter(({ said }) => said.kind !== undefined).map(({ said }) => said.data?.pid));
    expect(pids).toEqual(new Set([winners[0]?.child.pid]));
  });

  it('is free at once after the owner was killed, and the file left behind proves nothing (BC-19c)', async () => {
    const first = await start(directory, 'unix:///old');
    await end(first.child);
    expect(await isOwned(directory)).toBe(false);
    expect(await readOwner(directory)).toMatchObject({ pid: first.child.pid });
    const second = await start(directory, 'unix:///new');
    expect(second.said.taken).toBe(directory);
    expect(await readOwner(directory)).toMatchObject({ pid: second.child.pid, endpoints: ['unix:///new'] });
  });

  it('is kept while the owner is paused', async () => {
    const first = await start(directory, 'unix:///s');
    first.child.kill('SIGSTOP');
    expect((await start(directory, 'unix:///t')).said).toMatchObject({ data: { pid: first.child.pid } });
    first.child.kill('SIGCONT');
  });

  it('never takes what it only looks at', async () => {
    await mkdir(directory);
    expect(await isOwned(directory)).toBe(false);
    expect(await readdir(directory)).toEqual([]);
    const looks = Array.from({ length: 50 }, () => isOwned(directory));
    const owner = await takeOwnership({ directory, version: '1' });
    await Promise.all(looks);
    await owner.close();
  });

  it('says what is wrong with a path that cannot be used, and with a file that cannot be read', async () => {
    await writeFile(join(base, 'file'), '');
    await expect(takeOwnership({ directory: join(base, 'file', 'x'), version: '1' })).rejects.toMatchObject({
      kind: 'unavailable',
    });
    await mkdir(directory);
    await writeFile(join(directory, 'owner.json'), '{"pid":');
    expect(await readOwner(directory)).toBeUndefined();
  });
});
