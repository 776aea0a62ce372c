// What a permission profile denies by patterns is really not to be had, by whichever way a command tries.

import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

const file = (name: string, text = 'the key') => fileAt(join(workspace, name), text);

async function run(script: string, texts: readonly string[], changes: Partial<SandboxPolicy> = {}): Promise<string> {
  const policy: SandboxPolicy = {
    ...{ mode: 'workspace-write', writableRoots: [workspace], workspace: [workspace], network: false, hidden: [] },
    ...{ excludeTmpdir: true, excludeSlashTmp: false },
    patterns: { all: texts.flatMap((text) => readPatterns(text, workspace)), depth: Number.POSITIVE_INFINITY },
    ...changes,
  };
  return (await runConfined(tool!, policy, ['/bin/sh', script, workspace])).text;
}

const refused = (why: RegExp) => ({ kind: 'forbidden', message: expect.stringMatching(why) });

describe.skipIf(!tool)('what is matched', () => {
  it('is not read by its name, a link, another way to the same place, or a program that looks for it', async () => {
    file('.env');
    file('a/b/c.key');
    file('plain', 'open');
    symlinkSync('a/b/c.key', join(workspace, 'link'));
    symlinkSync(workspace, join(base, 'around'));
    const seen = await run(
      `cat .env a/b/c.key link plain /proc/self/root${workspace}/.env ${base}/around/a/b/c.key a/../.env
      grep -rs key . ; cp -r . /tmp/copy; cat /tmp/copy/.env /tmp/copy/a/b/c.key; tar c . | tr -d '\\0' | grep -a key$
      ln .env hard; cat hard; dd if=.env; (exec 3<.env; cat <&3); python3 -c 'print(open(".env").read())'; echo end`,
      ['**/.env', '**/*.key'],
    );
    expect(seen).toContain('open');
    expect(seen).toContain('end\n');
    expect(seen).not.toContain('the key');
  });

  it('is neither written, moved nor removed, nor uncovered for the next command by moving what it lies in', async () => {
    file('a/b/c.key');
    file('a/d/e.key');
    const tried = `echo x > a/b/c.key; rm -f a/b/c.key; mv a/b/c.key moved; mv a z; mv z/b q; mv a/b q; cat z/b/c.key q/c.key; ls; true`;
    for (const text of ['**/*.key', 'a/b/*.key', 'a/*/c.key']) {
      const seen = await run(tried, [text]);
      expect(seen).not.toContain('the key');
      const later = await run('cat a/b/c.key q/c.key z/b/c.key z/q/c.key moved; grep -rs key . --include=c.key', [
        text,
      ]);
      expect(later, text).not.toContain('the key');
      rmSync(workspace, { recursive: true });
      file('a/b/c.key');
    }
  });

  it('is also what a whole folder is called, with what comes into it later', async () => {
    file('x/secrets/deep/one');
    const seen = await run(
      'ls -R x; cat x/secrets/deep/one 2>&1 | grep key; echo new > x/secrets/new; mv x/secrets y; true',
      ['**/secrets'],
    );
    expect(seen).not.toMatch(/the key|deep/);
    expect(existsSync(join(workspace, 'x/secrets/new'))).toBe(false);
  });

  it('may not depend on a link that a command could replace, and needs none elsewhere', async () => {
    const outside = join(base, 'outside');
    writeFileSync(outside, 'the key');
    symlinkSync(outside, join(workspace, 'a.key'));
    await expect(run('true', ['*.key'])).rejects.toMatchObject(refused(/a\.key is denied, and leads through a link/));
    await expect(run('true', [], { denied: [join(workspace, 'a.key')] })).rejects.toMatchObject(
      refused(/leads through a link/),
    );
    mkdirSync(join(base, 'links'));
    symlinkSync(outside, join(base, 'links/b.key'));
    const patterns = { all: readPatterns('*.key', join(base, 'links')), depth: 1 };
    expect(await run(`cat ${outside} ${base}/links/b.key; echo end`, [], { patterns })).not.toContain('the key');
  });

  it('may not be the workspace, nor anything else that is worked in', async () => {
    const patterns = { all: readPatterns('work*', base), depth: 1 };
    await expect(run('true', [], { patterns })).rejects.toMatchObject(refused(/workspace is denied by a pattern/));
  });

  it('lets nothing start when it cannot be found out', async () => {
    for (let at = 0; at < 310; at++) file(`k/${at}.key`);
    await expect(run('true', ['**/*.key'])).rejects.toMatchObject(refused(/more than 300 matches; name folders/));
    expect(await run('ls k | wc -l; cat k/1.key; true', ['**/k'])).not.toMatch(/the key|310/);
  });

  it('is not had by shutting the folder that it lies in for one command, and opening it in the next', async () => {
    file('sub/a.key');
    await run('chmod 000 sub', ['**/*.key']);
    const seen = await run('chmod 755 sub; cat sub/a.key; mv sub other; cat other/a.key; echo end', ['**/*.key']);
    chmodSync(join(workspace, 'sub'), 0o755);
    expect(seen).toContain('end\n');
    expect(seen).not.toContain('the key');
  });

  it('known limits: another name of the same file, and what comes after the start', async () => {
    linkSync(file('a.key'), join(workspace, 'hard'));
    expect(await run('cat hard; echo late > b.key; cat b.key', ['*.key'])).toBe('the keylate\n');
    expect(readFileSync(join(workspace, 'b.key'), 'utf8')).toBe('late\n');
    expect(await run('cat b.key; true', ['*.key'])).not.toContain('late');
  });
});
