import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPatterns } from '../../../src/sandbox/pattern.ts';
import type { SandboxPolicy } from '../../../src/sandbox/policy.ts';
import { fileAt, runConfined, sandboxTool, workspaceAtHome } from '../../harness/sandbox.ts';

const tool = await sandboxTool();

let base: string;
let workspace: string;

beforeEach(() => {
  ({ base, workspace } = workspaceAtHome());
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const file = (name: string, text = 'the key') => fileAt(join(base, name), text);

async function run(script: string, paths: readonly string[], changes: Partial<SandboxPolicy> = {}): Promise<string> {
  const policy: SandboxPolicy = {
    ...{ mode: 'workspace-write', writableRoots: [workspace], workspace: [workspace], network: false, hidden: [] },
    ...{ excludeTmpdir: true, excludeSlashTmp: false },
    readable: { paths, isMinimal: true },
    ...changes,
  };
  return (await runConfined(tool!, policy, ['/bin/sh', script, workspace])).text;
}

const refused = (why: RegExp) => ({ kind: 'forbidden', message: expect.stringMatching(why) });

describe.skipIf(!tool)('a command that may read only some paths', () => {
  it('runs, works in its workspace, and reads what is named', async () => {
    file('docs/a', 'open');
    file('settings', 'shown');
    const seen = await run(
      `echo hi > made; cat made ../docs/a ../settings; git init -q /tmp/r && echo git; id -u >/dev/null && echo id
      echo x > ../docs/a || echo kept; python3 -c 'import ssl, json; print("py")'; echo end`,
      [join(base, 'docs'), join(base, 'settings')],
    );
    for (const each of ['hi\n', 'open', 'shown', 'git\n', 'id\n', 'kept\n', 'py\n', 'end\n'])
      expect(seen).toContain(each);
  });

  it('sees nothing else, by whichever way, and writes nowhere else', async () => {
    file('secret');
    file('docs/a', 'open');
    symlinkSync('../secret', join(base, 'docs/link'));
    symlinkSync('../secret', join(workspace, 'link'));
    const seen = await run(
      `cat ../secret link ../docs/link /proc/self/root${base}/secret /proc/1/root${base}/secret /proc/$PPID/cwd/../secret
      ls -A .. ; ls ${homedir()}; cat /etc/shadow /etc/sudoers; ls /etc/ssh /root /home /var/lib /opt /srv /boot /sys
      echo x > /planted; mkdir ${base}/new; mount --bind / /mnt; cd ${base} && mv workspace other; echo x > ${base}/planted; true`,
      [join(base, 'docs')],
    );
    expect(seen).not.toMatch(/the key|root:[^:\n]*:\d/);
    const listed = await run(`ls -A ${base}; ls -A ${homedir()}`, [join(base, 'docs')]);
    expect(listed.split('\n').filter(Boolean)).toEqual(['docs', 'workspace', base.slice(homedir().length + 1)]);
  });

  it('may be given a file or folder by a link, which leads where it leads', async () => {
    file('real/a', 'open');
    symlinkSync('real', join(base, 'alias'));
    expect(await run('cat ../alias/a ../real/a', [join(base, 'alias')])).toBe('openopen');
    rmSync(join(base, 'alias'));
    symlinkSync(homedir(), join(base, 'alias'));
    await expect(run('true', [join(base, 'alias')])).rejects.toMatchObject(refused(/no longer leads where it did/));
  });

  it('cannot turn what can be read elsewhere for the next one', async () => {
    file('secret/key');
    file('workspace/docs/in/a', 'open');
    const docs = join(workspace, 'docs/in');
    const policy = { readOnly: [docs] };
    expect(await run('mv docs d || mv docs/in i || echo held; cat docs/in/a', [docs], policy)).toMatch(/^held\nopen/);
    renameSync(docs, join(workspace, 'docs/other'));
    symlinkSync(join(base, 'secret'), docs);
    await expect(run('cat docs/in/key', [docs], policy)).rejects.toMatchObject(refused(/leads/));
  });

  it('sees nothing that is denied in what can be read', async () => {
    const [key, other] = [file('docs/a.key'), file('docs/deep/b')];
    file('docs/open', 'open');
    const seen = await run(
      'cat ../docs/a.key ../docs/deep/b ../docs/open; ls ../docs/deep; ls /usr/share/doc; true',
      [join(base, 'docs'), key],
      {
        denied: [dirname(other), '/usr/share/doc', '/bin/missing'],
        patterns: { all: readPatterns('*.pem', join(base, 'docs')), depth: 3 },
        hidden: [key],
      },
    );
    expect(seen).toMatch(/^open/);
    expect(seen).not.toContain('the key');
    expect(seen).not.toMatch(/^b$/m);
  });

  it('does not start where nothing can be read, and is not shown what no disk holds', async () => {
    await expect(run('true', [], { writableRoots: [], mode: 'read-only' })).rejects.toMatchObject(
      refused(/does not let commands read .*, their folder/),
    );
    await expect(run('true', ['/proc'])).rejects.toMatchObject(refused(/\/proc cannot be shown/));
    await expect(run('true', ['/dev/null'])).rejects.toMatchObject(refused(/cannot be shown/));
    await expect(run('true', ['/run'])).rejects.toMatchObject(refused(/cannot be a workspace/));
    const server = createServer().listen(join(base, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    await expect(run('true', [join(base, 'socket')])).rejects.toMatchObject(refused(/neither a file nor a folder/));
    await new Promise((resolve) => server.close(resolve));
  });
});
