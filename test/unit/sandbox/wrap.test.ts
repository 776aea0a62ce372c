// What a confined command can do, tried for real: each attempt runs under bwrap and the host is looked at afterwards.

import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROTECTED_NAMES, type SandboxPolicy } from '../../../src/sandbox/policy.ts';
import { createSandboxProbe } from '../../../src/sandbox/probe.ts';
import { wrapCommand } from '../../../src/sandbox/wrap.ts';
import { runConfined, sandboxTool, trySandbox, workspaceAtHome } from '../../harness/sandbox.ts';

const tool = await sandboxTool();

let base: string;
let workspace: string;
let policy: SandboxPolicy;

beforeEach(() => {
  ({ base, workspace } = workspaceAtHome());
  mkdirSync(join(workspace, '.git', 'hooks'), { recursive: true });
  policy = {
    mode: 'workspace-write',
    writableRoots: [workspace],
    workspace: [workspace],
    network: false,
    hidden: [],
    excludeTmpdir: false,
    excludeSlashTmp: false,
  };
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const run = (script: string, changes: Partial<SandboxPolicy> = {}, cwd = workspace) =>
  runConfined(tool!, { ...policy, ...changes }, ['/bin/bash', script, cwd], { HOME: base });

describe.skipIf(!tool)('a confined command', () => {
  it('writes its workspace and keeps its exit code', async () => {
    expect(await run('echo hi > file; pwd; exit 3')).toEqual({ code: 3, text: `${workspace}\n` });
    expect(readFileSync(join(workspace, 'file'), 'utf8')).toBe('hi\n');
  });

  it('writes nothing outside, not by its path, not through a link, not beside the workspace', async () => {
    symlinkSync(base, join(workspace, 'link'));
    for (const target of [join(base, 'out'), 'link/out', '../out', '/etc/heddle-out', '/usr/heddle-out'])
      expect((await run(`echo x > ${target}`)).code, target).not.toBe(0);
    expect(existsSync(join(base, 'out'))).toBe(false);
    expect(existsSync('/etc/heddle-out') || existsSync('/usr/heddle-out')).toBe(false);
  });

  it('writes nothing at all when it may only read', async () => {
    const tried = await run(
      'for f in file /tmp/file ~/file .git/file; do echo x > $f && echo wrote $f; done; cat .git/known',
      {
        mode: 'read-only',
      },
    );
    expect(tried.text).not.toContain('wrote');
    expect(existsSync(join(workspace, 'file'))).toBe(false);
  });

  it('cannot plant a hook, nor move the repository folder away', async () => {
    const tried = await run(
      'echo x > .git/hooks/pre-commit && echo planted; mv .git other && echo moved; rm -rf .git; true',
    );
    expect(tried.text).not.toMatch(/planted|moved\n/);
    expect(existsSync(join(workspace, '.git/hooks/pre-commit'))).toBe(false);
    expect(existsSync(join(workspace, '.git/hooks'))).toBe(true);
  });

  it('protects the repository that a worktree file points to', async () => {
    rmSync(join(workspace, '.git'), { recursive: true });
    mkdirSync(join(workspace, 'store/hooks'), { recursive: true });
    writeFileSync(join(workspace, '.git'), 'gitdir: store\n');
    const tried = await run(
      'echo x > store/hooks/pre-commit && echo planted; echo "gitdir: /tmp" > .git && echo turned; true',
    );
    expect(tried.text).not.toMatch(/planted|turned/);
  });

  it('gets no privilege back: no remount, no mount, no further user namespace, no device', async () => {
    const tried = await run(`
      mount -o remount,bind,rw / && echo remounted
      mount -t tmpfs none /mnt && echo mounted
      unshare -r true && echo unshared
      mknod disk b 8 0 && echo made
      grep CapEff /proc/self/status; echo x > ${join(base, 'out')}; true`);
    expect(tried.text).not.toMatch(/remounted|mounted|unshared|made/);
    expect(tried.text).toContain('CapEff:\t0000000000000000');
    expect(existsSync(join(base, 'out'))).toBe(false);
  });

  it('reaches no process of the host: none to see, to signal, to look into or to trace', async () => {
    const other = spawn('sleep', ['60'], { env: { OUTSIDE: 'secret-of-another' }, stdio: 'ignore' });
    try {
      const tried = await run(`
        for pid in ${process.pid} ${other.pid}; do
          kill -0 $pid && echo signalled
          head -c 9 /proc/$pid/environ && echo looked
          : < /proc/$pid/mem && echo opened
          ls /proc/$pid/root/ && echo entered
          command -v python3 > /dev/null && python3 -c "import ctypes; print('traced' if ctypes.CDLL(None).ptrace(16, $pid, 0, 0) == 0 else '')"
        done
        kill -9 -1
        grep -ls sleep /proc/[0-9]*/comm
        cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep OUTSIDE
        ls -d /proc/1/root${base}/../.ssh && echo around
        echo over`);
      expect(tried.text).toContain('over');
      expect(tried.text).not.toMatch(/signalled|looked|opened|entered|traced|comm|OUTSIDE|around/);
      expect(other.exitCode ?? other.signalCode).toBeNull();
    } finally {
      other.kill('SIGKILL');
    }
  });

  it('sees neither hidden folders nor hidden files, even inside the workspace', async () => {
    const data = join(workspace, 'data');
    mkdirSync(data);
    writeFileSync(join(data, 'history'), 'secret-1');
    writeFileSync(join(base, 'token'), 'secret-2');
    const tried = await run(`cat data/history ../token; ls -A data; echo x > data/new && echo wrote; true`, {
      hidden: [data, join(base, 'token')],
    });
    expect(tried.text).not.toMatch(/secret|wrote/);
    expect(readFileSync(join(data, 'history'), 'utf8')).toBe('secret-1');
    expect(existsSync(join(data, 'new'))).toBe(false);
  });

  it('works in a root inside a hidden folder, but not in the hidden folder itself', async () => {
    const inner = join(base, 'data', 'tree');
    mkdirSync(inner, { recursive: true });
    writeFileSync(join(base, 'data', 'history'), 'secret');
    const changes = { hidden: [join(base, 'data')], writableRoots: [inner] };
    const tried = await run('echo hi > file; cat ../history; ls ..', changes, inner);
    expect(tried.text).not.toContain('secret');
    expect(readFileSync(join(inner, 'file'), 'utf8')).toBe('hi\n');
    await expect(run('true', changes, join(base, 'data'))).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it('has no network and reaches no host process', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    try {
      const connect = `exec 3<>/dev/tcp/127.0.0.1/${port} && echo connected; true`;
      expect((await run(connect)).text).not.toContain('connected');
      expect((await run(connect, { network: true })).text).toContain('connected');
    } finally {
      server.close();
    }
    expect((await run(`kill -0 ${process.pid} && echo reached; true`)).text).not.toContain('reached');
  });

  it('cannot reach a socket in a hidden folder or in a private one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'heddle-sockets-'));
    const server = createServer().listen(join(folder, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      const tried = await run(`test -e ${folder}/socket && echo seen; true`, { network: true, hidden: [folder] });
      expect(tried.text).not.toContain('seen');
    } finally {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('has a private /tmp, and a workspace in the real one', async () => {
    const inTmp = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-workspace-')));
    try {
      const tried = await run(
        `echo hi > file && echo x > ${tmpdir()}/heddle-private && ls`,
        { writableRoots: [inTmp], workspace: [inTmp] },
        inTmp,
      );
      expect(tried).toEqual({ code: 0, text: 'file\n' });
      expect(readFileSync(join(inTmp, 'file'), 'utf8')).toBe('hi\n');
      expect(existsSync(join(tmpdir(), 'heddle-private'))).toBe(false);
      const reading = await run(
        'cat file; echo x > other && echo wrote; true',
        { mode: 'read-only', workspace: [inTmp] },
        inTmp,
      );
      expect(reading.text).toContain('hi\n');
      expect(reading.text).not.toContain('wrote');
      const sealed = await run(
        `echo x > ${tmpdir()}/y && echo wrote; echo z > inside`,
        { writableRoots: [inTmp], excludeSlashTmp: true },
        inTmp,
      );
      expect(sealed.text).not.toContain('wrote');
      expect(existsSync(join(inTmp, 'inside'))).toBe(true);
    } finally {
      rmSync(inTmp, { recursive: true, force: true });
    }
  });

  it('writes the folder of TMPDIR unless it is excluded', async () => {
    const scratch = join(base, 'scratch');
    mkdirSync(scratch);
    await run(`echo x > ${scratch}/one`, { tmpdir: scratch });
    await run(`echo x > ${scratch}/two`, { tmpdir: scratch, excludeTmpdir: true });
    expect([existsSync(join(scratch, 'one')), existsSync(join(scratch, 'two'))]).toEqual([true, false]);
  });

  it('takes the file system root as workspace or working folder', async () => {
    expect(await run('pwd; echo ok > /dev/null && cat /proc/self/comm', { mode: 'read-only' }, '/')).toEqual({
      code: 0,
      text: '/\ncat\n',
    });
    expect(await run(`echo x > ${base}/out; test -c /dev/null`, { writableRoots: ['/'] }, '/')).toEqual({
      code: 0,
      text: '',
    });
    expect(existsSync(join(base, 'out'))).toBe(true);
  });

  it.skipIf(!tool?.mountsHandles)(
    'writes what its root was when it was looked at, though the path is turned away before the start',
    async () => {
      const [inner, victim] = [join(workspace, 'inner'), join(base, 'victim')];
      for (const name of PROTECTED_NAMES) mkdirSync(join(victim, name), { recursive: true });
      mkdirSync(inner);
      const changes = { writableRoots: [inner], workspace: [inner] };
      const argv = ['/bin/sh', '-c', 'echo x > out'] as const;
      const wrapped = await wrapCommand({ ...policy, ...changes }, { argv, cwd: inner, firstHandle: 4 }, tool!);
      renameSync(inner, join(workspace, 'moved'));
      symlinkSync('../victim', inner);
      const [program, ...rest] = wrapped.argv;
      const child = spawn(program, rest, {
        cwd: base,
        stdio: ['ignore', 'ignore', 'ignore', 'ignore', ...wrapped.handles],
      });
      await new Promise((resolve) => child.once('exit', resolve));
      wrapped.closeHandles();
      wrapped.release();
      expect(existsSync(join(victim, 'out'))).toBe(false);
    },
  );

  it('is not wrapped at all under full access', async () => {
    const argv = ['true'] as const;
    expect((await wrapCommand({ ...policy, mode: 'danger-full-access' }, { argv, cwd: '/' }, tool!)).argv).toBe(argv);
  });
});

describe('the probe', () => {
  it('says what to do where there is no sandbox', async () => {
    const none = await trySandbox('win32');
    expect(none).toMatchObject({ isAvailable: false, reason: expect.stringContaining('win32') });
  });

  it('looks once', async () => {
    let runs = 0;
    const probe = createSandboxProbe(async () => {
      runs += 1;
      return { code: 1, output: 'no' };
    });
    const first = await probe();
    const before = runs;
    expect(await probe()).toBe(first);
    expect(runs).toBe(before);
  });

  it('takes what cannot be run for a sandbox that does not hold', async () => {
    const none = await createSandboxProbe(() => Promise.reject(new Error('too many programs')))();
    expect(none).toMatchObject({ isAvailable: false, reason: expect.stringContaining('too many programs') });
  });
});
