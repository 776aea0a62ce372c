// Which lines are simple, what their words are, and what that allows; held against bash itself.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isKnownSafe } from '../../../src/children/read-only-commands.ts';
import { proposedAmendment, shellCommand } from '../../../src/children/shell-command.ts';
import { loadShellParser } from '../../../src/children/shell-line.ts';
import { displayCommand } from '../../../src/children/shell-quote.ts';
import { fc } from '../../harness/chance.ts';

const shell = await loadShellParser();

/** The words that bash makes of a text, run where nothing can be found or spoiled. */
function wordsByBash(text: string, folder: string): string[] {
  const script = `set -- ${text}\nprintf '%s\\0' "$@"`;
  const out = execFileSync('/bin/bash', ['--norc', '-c', script], {
    cwd: folder,
    env: { PATH: folder },
    encoding: 'utf8',
  });
  return out.split('\0').slice(0, -1);
}

function inEmptyFolder(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-words-'));
  try {
    work(folder);
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('simpleCommands', () => {
  it('gives words without quotes, and the joints', () => {
    expect(shell.simpleCommands(`a 'b c' "d e"f 12 | g && h || i; j\nk`)).toEqual([
      { argv: ['a', 'b c', 'd ef', '12'], joint: 'start' },
      { argv: ['g'], joint: '|' },
      { argv: ['h'], joint: '&&' },
      { argv: ['i'], joint: '||' },
      { argv: ['j'], joint: ';' },
      { argv: ['k'], joint: '\n' },
    ]);
  });

  it.each([
    ['nothing', ''],
    ['blanks', '  \n '],
    ['a variable', 'echo $HOME'],
    ['a variable in quotes', 'echo "$HOME"'],
    ['a command substitution', 'echo `id`'],
    ['another', 'echo "$(id)"'],
    ['a process substitution', 'cat <(id)'],
    ['a glob', 'cat *.txt'],
    ['a home folder', 'cat ~root/x'],
    ['braces', 'echo {a,b}'],
    ['an escape', 'ls\\ a'],
    ['a continued line', 'ls \\\n-l'],
    ['ANSI quotes', "echo $'a'"],
    ['a redirection', 'echo a > b'],
    ['a here-string', 'cat <<< a'],
    ['a here-document', 'cat <<E\n$(id)\nE'],
    ['the background', 'ls & id'],
    ['a trailing background', 'ls &'],
    ['both streams piped', 'ls |& cat'],
    ['an assignment', 'A=1 ls'],
    ['only an assignment', 'A=1'],
    ['a subshell', '(ls)'],
    ['a group', '{ ls; }'],
    ['a negation', '! ls'],
    ['a loop', 'while ls; do id; done'],
    ['a function', 'f() { ls; }'],
    ['arithmetic', 'echo $((1+1))'],
    ['a comment', 'ls # id'],
    ['an open quote', "ls 'a"],
    ['a carriage return', 'ls\rid'],
    ['a blank that is none to the shell', 'ls\u00a0id'],
    ['a line separator', 'ls\u2028id'],
    ['a NUL', 'ls\0id'],
  ])('does not take %s for simple', (_what, line) => {
    expect(shell.simpleCommands(line)).toBeUndefined();
  });

  it('agrees with bash about the words of whatever it takes for simple', () => {
    const sign = fc.constantFrom(...'ab -=/.,:%+@^~*?[]{}()<>!#;&|$`\\\'" \n\t', '"a b"', "'c d'", '\u00e4');
    let compared = 0;
    inEmptyFolder((folder) => {
      fc.assert(
        fc.property(fc.string({ unit: sign, minLength: 1, maxLength: 14 }), (rest) => {
          const line = `x ${rest}`;
          const commands = shell.simpleCommands(line);
          if (commands?.length !== 1) return;
          compared += 1;
          expect(wordsByBash(line, folder)).toEqual(commands[0]?.argv);
        }),
        { numRuns: 3_000, seed: 20_261, examples: [['"a\\"b"'], ["'a\\b'"], ['"a\nb"'], ['"  a "'], ['a#b'], ["''"]] },
      );
    });
    expect(compared).toBeGreaterThan(50);
  });
});

describe('displayCommand', () => {
  it('is read back by bash as the same words', () => {
    const sign = fc.constantFrom(...'ab \'"\\$`!^*~#&|;<>(){}[]=,\n\t', '\u00e4');
    const words = fc.array(fc.string({ unit: sign, maxLength: 8 }), { minLength: 1, maxLength: 5 });
    inEmptyFolder((folder) => {
      fc.assert(
        fc.property(words, (argv) => {
          expect(wordsByBash(displayCommand(argv), folder)).toEqual(argv);
        }),
        { numRuns: 200, seed: 20_262 },
      );
    });
  });
});

describe('isKnownSafe', () => {
  it.each([
    'ls -la',
    'cat a b | head -n 3',
    'cd src && pwd && rg -n foo .',
    'find . -name x -type f',
    "sed -n '1,20p' file",
    'git branch --show-current',
    'git rev-parse HEAD',
    'uniq -c file',
  ])('lets %s pass', (line) => {
    expect(isKnownSafe(shell, line)).toBe(true);
  });

  it.each([
    'rm -rf .',
    'ls > file',
    'ls; rm x',
    'ls $(rm x)',
    'find . -delete',
    'find . -exec rm x ;',
    'find . -fprintf out x',
    'rg --pre sh foo',
    'rg --pre=sh foo',
    'rg -z foo',
    'uniq in out',
    "sed -n '1,5p' -i file",
    "sed -n '1w out' file",
    'git -c core.pager=sh branch',
    'git diff',
    'git status',
    'git branch new',
    'git branch -D main',
    'sort -o out in',
    './ls',
    '/tmp/cat a',
    "printf -v 'a[$(id)]' x",
    "test -v 'a[$(id)]'",
    'env ls',
    'xargs cat',
    'command rm x',
    'ls &',
    'constructor',
    '__proto__ x',
    '',
  ])('asks about %s', (line) => {
    expect(isKnownSafe(shell, line)).toBe(false);
  });
});

describe('what is started, and what would be allowed', () => {
  it('starts a line in a login shell', () => {
    expect(shellCommand('echo hi')).toEqual(['/bin/bash', '-lc', 'echo hi']);
    expect(displayCommand(shellCommand('echo hi'))).toBe("/bin/bash -lc 'echo hi'");
  });

  it('proposes the words of one simple command, else the shell with the line', () => {
    expect(proposedAmendment(shell, 'git status')).toEqual(['git', 'status']);
    expect(proposedAmendment(shell, "touch 'a b'")).toEqual(['touch', 'a b']);
    for (const line of ['mkdir -p d && echo x > d/f', 'ls | head', 'cat *'])
      expect(proposedAmendment(shell, line)).toEqual(['/bin/bash', '-lc', line]);
  });
});
