// Completion in the shells themselves: a line is typed as people type it, with a tab, and the shell runs what became of it.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/client/local.ts';
import { eventually } from '../unit/children/waiting.ts';
import { EXECUTABLE, run, scratch, serve } from './executable.ts';
import { Terminal } from './terminal.ts';

/** Answers completions, and shows what it would have been run with. */
const program = (): string => `#!/bin/sh
if [ "$1" = completion ]; then exec '${process.execPath}' '${EXECUTABLE}' "$@"; fi
printf '<%s>' "$@"; echo
`;

interface ShellCase {
  readonly args: readonly string[];
  /** Typed first. */
  readonly setUp: string;
}

const SHELLS: Readonly<Record<string, ShellCase>> = {
  bash: { args: ['--norc', '--noprofile', '-i'], setUp: 'source <(heddle completion bash)' },
  zsh: { args: ['-f', '-i'], setUp: 'autoload -Uz compinit; compinit -u; source <(heddle completion zsh)' },
  fish: { args: ['--no-config', '-i'], setUp: 'heddle completion fish | source' },
};

const isThere = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;

function openShell(name: string, data: string): Terminal {
  const folder = scratch();
  mkdirSync(join(folder, 'folder one'));
  writeFileSync(join(folder, 'folder-file'), '');
  writeFileSync(join(folder, 'prompt.json'), '');
  writeFileSync(join(folder, 'heddle'), program(), { mode: 0o755 });
  const environment = { PATH: `${folder}${delimiter}${process.env.PATH}`, HEDDLE_HOME: data };
  const { args, setUp } = SHELLS[name]!;
  const shell = new Terminal(args, { program: name, environment: { ...environment, HISTFILE: '' } });
  shell.type(`cd '${folder}'; ${setUp}; heddle ready\r`);
  return shell;
}

for (const name of Object.keys(SHELLS))
  if (!isThere(name)) console.warn(`completion in ${name} is NOT tested: ${name} is not installed`);

describe.each(Object.keys(SHELLS).filter(isThere))('in %s', (name) => {
  test('commands, flags, values, paths and thread ids', { timeout: 300_000 }, async () => {
    const data = scratch();
    const { address } = await serve(['--data-dir', data, '--listen', 'unix://']);
    const client = await connect({ name: 'e2e', version: '1', url: address });
    const { id } = await client.thread({ threadId: 'zebra-crossing', cwd: data });
    await client.request('thread/name/set', { threadId: id, name: 'it\'s: a "name" $(x)' });
    await client.close();
    const shell = openShell(name, data);
    await shell.shown(/<ready>/);
    const shown = async (line: string): Promise<string> => {
      shell.type(`heddle ${line}\t\r`);
      // Some shells take the slash away again when the line is done.
      return (await shell.shown(/(<[^\r\n]*>)+\r/)).replace('/>', '>');
    };
    const completed = async (line: string, words: string): Promise<void> =>
      expect(await shown(line)).toContain(`${words}\r`);
    await completed('att', '<attach>');
    await completed('threads sh', '<threads><show>');
    await completed('exec --out', '<exec><--output-schema>');
    await completed('exec --backend moc', '<exec><--backend><mock>');
    await completed('exec --backend=moc', '<exec><--backend=mock>');
    await completed('app-server daemon rest', '<app-server><daemon><restart>');
    await completed('exec -C fol', '<exec><-C><folder one>');
    await completed('exec --output-schema prom', '<exec><--output-schema><prompt.json>');
    await completed('exec --output-schema=prom', '<exec><--output-schema=prompt.json>');
    await completed('config get busy_t', '<config><get><busy_turn_start>');
    // A server that is too busy to answer soon is not waited for.
    await eventually('the id of a thread', async () =>
      (await shown('attach zeb')).includes('<attach><zebra-crossing>\r'),
    );
    await completed('no-such-command att', '<no-such-command><att>');
  });
});

test('without a server there are no ids, and nothing is started or made for them', async () => {
  const data = join(scratch(), 'none');
  const environment = { HEDDLE_HOME: data };
  const asked = await run(['completion', 'words', 'bash', '--', 'threads', 'show', ''], { environment });
  expect(asked).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect(existsSync(data)).toBe(false);
});

test('each script is printed, and an unknown shell is told which there are', async () => {
  for (const shell of Object.keys(SHELLS)) {
    const { code, stdout, stderr } = await run(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`heddle completion words ${shell}`);
  }
  const unknown = await run(['completion', 'csh']);
  expect(unknown).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('unknown shell `csh`; choose bash, zsh or fish'),
  });
});
