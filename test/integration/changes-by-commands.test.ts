// What commands do to files is a part of the turn's diff, in a repository and outside of one, and git takes it for what was meant.

import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { callingModel, type ToolUse } from '../harness/calling-model.ts';
import { responses, stream } from '../harness/model-server.ts';
import { cleanUp } from '../harness/start-app.ts';
import { completed } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const run = promisify(execFile);
const BARE = { sandbox: 'danger-full-access', approvalPolicy: 'never' };
const command = (cmd: string): ToolUse => ['exec_command', { cmd, yield_time_ms: 30_000 }];
const patch = (...lines: string[]): ToolUse => [
  'apply_patch',
  { input: `*** Begin Patch\n${lines.join('\n')}\n*** End Patch` },
];

const git = (cwd: string, ...args: string[]) =>
  run('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd });

async function repository(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await git(folder, 'init', '-q');
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  await git(folder, 'add', '-A');
  await git(folder, 'commit', '-qm', 'first');
}

const FILES = {
  'a.txt': 'one\ntwo\n',
  'b.sh': 'echo\n',
  'dir/c.txt': 'c\n',
  'gone.txt': 'bye\n',
  '.gitignore': 'out/\n',
};

/** The clock stands still: a look takes what it takes. */
async function started(files?: Readonly<Record<string, string>>) {
  const calling = await callingModel(BARE, { clock: new ManualClock() });
  const { workspace } = calling.server;
  if (files) await repository(workspace, files);
  const last = () => calling.client.news('turn/diff/updated').at(-1)?.diff as string | undefined;
  const at = (name: string) => join(workspace, name);
  return { ...calling, workspace, last, at };
}

/** What the diff says of a command when it names a file, while the turn goes on: at its end nobody waits long for a look. */
async function told({ client, begin, at }: Awaited<ReturnType<typeof started>>, line: string, name: string) {
  await rm(at('gate'), { force: true });
  await run('mkfifo', [at('gate')]);
  const turnId = await begin([command(line), command('cat gate')]);
  const { diff } = await client.notified(
    'turn/diff/updated',
    (news) => news.turnId === turnId && headers(news.diff).includes(`diff --git a/${name} b/${name}`),
  );
  await writeFile(at('gate'), 'go on');
  await completed(client, turnId);
  return headers(diff);
}

const headers = (diff: string | undefined): readonly string[] =>
  diff?.match(/^(?:diff|old|new|deleted|rename|Binary).*$/gm) ?? [];

describe('in a repository', () => {
  test('files that came, went, changed, moved or have other rights are told; ignored ones are not', async () => {
    const { run: turn, last, workspace } = await started(FILES);
    const script = [
      'printf "ONE\\ntwo\\n" > a.txt; chmod +x b.sh; mv dir/c.txt dir/d.txt; rm gone.txt; mkdir -p out',
      'echo x > out/built; printf "\\0\\1" > picture; ln -s a.txt link; echo new > new.txt; echo t > t; rm t',
    ];
    await turn([command(script.join('; '))]);
    expect(headers(last())).toEqual([
      'diff --git a/a.txt b/a.txt',
      'diff --git a/b.sh b/b.sh',
      'old mode 100644',
      'new mode 100755',
      'diff --git a/dir/c.txt b/dir/d.txt',
      'rename from dir/c.txt',
      'rename to dir/d.txt',
      'diff --git a/gone.txt b/gone.txt',
      'deleted file mode 100644',
      'diff --git a/link b/link',
      'new file mode 120000',
      'diff --git a/new.txt b/new.txt',
      'new file mode 100644',
      'diff --git a/picture b/picture',
      'new file mode 100644',
      'Binary files /dev/null and b/picture differ',
    ]);
    // Taken back, all but the picture is as it was.
    await rm(join(workspace, 'picture'));
    const text = last()!.replace(/^diff --git a\/picture[\s\S]*?differ\n/m, '');
    execFileSync('git', ['apply', '-R', '-'], { cwd: workspace, input: text });
    expect((await git(workspace, 'status', '--porcelain')).stdout).toBe('');
  });

  test('a command and a patch change the same file, one after the other', async () => {
    const { run: turn, client, last } = await started(FILES);
    await turn([
      command('echo three >> a.txt'),
      patch('*** Update File: a.txt', '@@', '-one', '+ONE', ' two', ' three'),
      command('sed -i s/two/TWO/ a.txt'),
    ]);
    expect(last()!.match(/^[-+][^-+].*$/gm)).toEqual(['-one', '-two', '+ONE', '+TWO', '+three']);
    await turn([patch('*** Add File: n.txt', '+1'), command('echo 2 > n.txt'), patch('*** Delete File: n.txt')]);
    expect(client.news('turn/diff/updated').at(-1)).toMatchObject({ diff: '' });
  });

  test('what was changed and not committed before the turn is where the diff begins', async () => {
    const { run: turn, last, at } = await started(FILES);
    await writeFile(at('a.txt'), 'one\nmine\n');
    await writeFile(at('untracked'), 'mine\n');
    await turn([command('echo more >> a.txt; echo more >> untracked')]);
    expect(headers(last())).toEqual(['diff --git a/a.txt b/a.txt', 'diff --git a/untracked b/untracked']);
    expect(last()!.match(/^[-+][^-+].*$/gm)).toEqual(['+more', '+more']);
    await turn([command('rm untracked; git checkout -q a.txt')]);
    expect(last()!.match(/^[-+][^-+].*$/gm)).toEqual(['-mine', '-more', '+two', '-mine', '-more']);
  });

  test('a commit in the midst does not hide what it holds, and undone work is no difference', async () => {
    const { run: turn, last, client } = await started(FILES);
    await turn([
      command('echo 1 > a.txt && git add -A && git -c user.name=t -c user.email=t@example.com commit -qm second'),
      command('echo 2 > dir/c.txt'),
    ]);
    expect(headers(last())).toEqual(['diff --git a/a.txt b/a.txt', 'diff --git a/dir/c.txt b/dir/c.txt']);
    const before = client.news('turn/diff/updated').length;
    await turn([command('echo 3 > a.txt'), command('echo 1 > a.txt')]);
    expect(client.news('turn/diff/updated').at(-1)).toMatchObject({ diff: '' });
    expect(client.news('turn/diff/updated').length).toBeGreaterThan(before);
  });

  test('the index stays as it is, and no program that the repository names is run', async () => {
    const {
      run: turn,
      last,
      workspace,
      at,
    } = await started({ ...FILES, '.gitattributes': '*.txt filter=evil diff=evil\n' });
    const mark = (name: string) => `sh -c 'touch "${at(name)}"; cat'`;
    for (const [name, value] of [
      ['filter.evil.clean', mark('cleaned')],
      ['filter.evil.smudge', mark('smudged')],
      ['filter.evil.required', 'true'],
      ['diff.evil.textconv', mark('converted')],
      ['core.fsmonitor', mark('watched')],
      ['core.hooksPath', at('hooks')],
    ] as const)
      await git(workspace, 'config', name, value);
    await mkdir(at('hooks'));
    await writeFile(at('hooks/post-index-change'), `#!/bin/sh\ntouch '${at('hooked')}'\n`);
    await chmod(at('hooks/post-index-change'), 0o755);
    const index = await readFile(at('.git/index'));
    await turn([command('echo 1 > a.txt')]);
    expect(last()).toContain('\n+1\n');
    expect(await readFile(at('.git/index'))).toEqual(index);
    for (const name of ['cleaned', 'smudged', 'converted', 'watched', 'hooked'])
      await expect(readFile(at(name))).rejects.toThrow('ENOENT');
  });

  test('a name of a filter that looks like a setting, and settings that commands can write, run nothing', async () => {
    const { run: turn, last, workspace, at } = await started({ ...FILES, '.gitattributes': '*.txt filter=a=b\n' });
    const settings = (name: string, mark: string) =>
      `[filter "${name}"]\n\tclean = touch '${at(mark)}' && cat\n\trequired\n`;
    await writeFile(at('.git/config'), settings('a=b', 'first'), { flag: 'a' });
    await git(workspace, 'config', 'include.path', '../shared');
    await writeFile(at('shared'), '');
    await writeFile(at('more'), `${settings('late', 'second')}[core]\n\tfsmonitor = touch '${at('third')}'\n`);
    await turn([
      command('echo 1 > a.txt'),
      command('cat more > shared; echo "*.txt filter=late" > .gitattributes; echo 2 > a.txt'),
    ]);
    expect(last()).toContain('\n+2\n');
    for (const name of ['first', 'second', 'third']) await expect(readFile(at(name))).rejects.toThrow('ENOENT');
  });

  test('an index in two parts is read, and one that is a named pipe keeps nobody waiting', async () => {
    const { run: turn, last, workspace, at } = await started(FILES);
    await git(workspace, 'update-index', '--split-index');
    await turn([command('echo 1 > a.txt')]);
    expect(last()).toContain('\n-one\n-two\n+1\n');
    await rm(at('.git/index'));
    await run('mkfifo', [at('.git/index')]);
    await turn([command('echo 2 > a.txt')]);
    expect(last()).toContain('\n-1\n+2\n');
  });

  test('what is no file in the place of an ignore file, or of one that git knows, hides nothing and keeps nobody waiting', async () => {
    const calling = await started(FILES);
    const { at, client, workspace } = calling;
    await git(workspace, 'config', 'core.excludesfile', at('dir/excludes'));
    const pipes = 'mkfifo .gitignore dir/.gitignore .gitattributes dir/excludes gone.txt';
    expect(await told(calling, `rm .gitignore gone.txt; ${pipes}; echo 1 > a.txt`, 'a.txt')).toEqual([
      'diff --git a/.gitignore b/.gitignore',
      'deleted file mode 100644',
      'diff --git a/a.txt b/a.txt',
      'diff --git a/gone.txt b/gone.txt',
      'deleted file mode 100644',
    ]);
    await rm(at('.git/info'), { recursive: true, force: true });
    await mkdir(at('.git/info'));
    await run('mkfifo', [at('.git/info/exclude')]);
    await rm(at('dir/.gitignore'));
    const socket = createServer().listen(at('dir/.gitignore'));
    await new Promise((resolve) => socket.once('listening', resolve));
    const later = await told(calling, 'ln -s /dev/zero .ignore; echo 2 > a.txt; echo new > dir/new.txt', 'dir/new.txt');
    expect(later).toEqual(
      expect.arrayContaining(['diff --git a/a.txt b/a.txt', 'diff --git a/dir/new.txt b/dir/new.txt']),
    );
    await new Promise((resolve) => socket.close(resolve));
    expect(client.news('warning')).toEqual([]);
  }, 60_000);

  test('names of other objects, sparse folders and ends of lines are understood as git does', async () => {
    const { run: turn, last, workspace, at } = await started();
    await git(workspace, 'init', '-q', '--object-format=sha256');
    for (const name of ['far', 'near']) await mkdir(at(name));
    await writeFile(at('far/a'), 'a\n');
    await writeFile(at('near/b'), 'b\r\n');
    await writeFile(at('near/c'), 'c\r\n');
    await git(workspace, 'config', 'core.autocrlf', 'true');
    await git(workspace, 'add', '-A');
    await git(workspace, 'commit', '-qm', 'first');
    await git(workspace, 'sparse-checkout', 'set', '--sparse-index', 'near');
    await writeFile(at('.git/info/exclude'), 'ignored\n');
    await turn([command('touch near/c; printf "1\\r\\n" > near/b; echo x > ignored')]);
    expect(headers(last())).toEqual(['diff --git a/near/b b/near/b']);
  });

  test('a repository whose settings place its files elsewhere is not followed', async () => {
    const { run: turn, client, workspace, server } = await started(FILES);
    await git(workspace, 'config', 'core.worktree', server.dataDirectory);
    await turn([command('echo 1 > a.txt')]);
    const diffs = client.news('turn/diff/updated');
    expect(headers(diffs.at(-1)?.diff as string)).toEqual(['diff --git a/a.txt b/a.txt']);
  });
});

test('outside of a repository a small folder is told of as well', async () => {
  const { run: turn, last, at } = await started();
  await writeFile(at('a.txt'), 'one\n');
  await writeFile(at('b.txt'), 'b\n');
  await turn([command('echo two >> a.txt; mv b.txt c.txt; mkdir d; echo n > d/n')]);
  expect(headers(last())).toEqual([
    'diff --git a/a.txt b/a.txt',
    'diff --git a/b.txt b/c.txt',
    'rename from b.txt',
    'rename to c.txt',
    'diff --git a/d/n b/d/n',
    'new file mode 100644',
  ]);
});

test('nor does it outside of a repository', async () => {
  const calling = await started();
  await writeFile(calling.at('a'), 'a\n');
  const pipes = 'mkfifo .gitignore .ignore; mkdir sub; mkfifo sub/.rgignore';
  expect(await told(calling, `${pipes}; echo b > a`, 'a')).toEqual(['diff --git a/a b/a']);
  expect(await told(calling, 'echo c > sub/c', 'sub/c')).toEqual([
    'diff --git a/sub/c b/sub/c',
    'new file mode 100644',
  ]);
}, 60_000);

test('a command that is known to only read is not looked after', async () => {
  const { run: turn, client, workspace } = await started(FILES);
  await turn([command('cat a.txt && ls'), command('git status')]);
  expect(client.news('turn/diff/updated')).toEqual([]);
  expect((await git(workspace, 'status', '--porcelain')).stdout).toBe('');
});

test('what an interrupted command has done is told before the turn ends', async () => {
  const { begin, client, threadId, last, at } = await started(FILES);
  const turnId = await begin([command('echo 1 > a.txt; echo begun; sleep 600')]);
  await client.notified('item/commandExecution/outputDelta');
  await client.request('turn/interrupt', { threadId, turnId });
  await completed(client, turnId);
  expect(await readFile(at('a.txt'), 'utf8')).toBe('1\n');
  expect(last()).toContain('\n+1\n');
});

test('a turn that goes on after a restart goes on with its diff', async () => {
  const { begin, client, threadId, server, model } = await started(FILES);
  const granular = { approvalPolicy: 'untrusted' };
  const turnId = await begin([command('echo 1 > a.txt'), command('echo 2 > dir/c.txt')], granular);
  const first = await client.asked((each) => each.turnId === turnId);
  first.answer({ decision: 'accept' });
  await client.asked((each) => each.turnId === turnId && each.itemId !== first.params.itemId);
  await client.notified('turn/diff/updated', ({ diff }) => diff.includes('\n+1\n'));
  await server.restart();
  const next = await server.connect({ experimentalApi: true });
  await next.request('thread/resume', { threadId });
  model.script(stream(responses.say('done')));
  (await next.asked((each) => each.turnId === turnId)).answer({ decision: 'accept' });
  await completed(next, turnId);
  const diff = next.news('turn/diff/updated').at(-1)?.diff as string;
  expect(headers(diff)).toEqual(['diff --git a/a.txt b/a.txt', 'diff --git a/dir/c.txt b/dir/c.txt']);
  expect(diff.match(/^[-+][^-+].*$/gm)).toEqual(['-one', '-two', '+1', '-c', '+2']);
});
