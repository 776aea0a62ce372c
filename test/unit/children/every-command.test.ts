// Every command that a line shows, wherever it stands and whatever starts it.

import { describe, expect, it } from 'vitest';
import { loadShellParser } from '../../../src/children/shell-line.ts';

const shell = await loadShellParser();

/** The lines of words that are found, `?` for a word that is not known. */
const found = (line: string) =>
  shell.everyCommand(line).commands.map((argv) => argv.map((word) => word ?? '?').join(' '));

const quoted = (line: string) => `'${line.replaceAll("'", `'\\''`)}'`;

describe('everyCommand', () => {
  it.each([
    ['a plain command', 'rm x'],
    ['quotes', `"rm" 'x'`],
    ['quotes in the middle', `r'm' "x"`],
    ['ANSI quotes', `$'rm' x`],
    ['ANSI quotes with codes', `$'r\\x6d' $'\\170'`],
    ['translated quotes', `$"rm" x`],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a line of shell
    ['backquotes in an expansion', 'echo ${a:-`rm x`} "${b//`rm x`}"'],
    ['backquotes in a here-document', 'cat <<E\n`rm x`\nE'],
    ['a coprocess', 'coproc rm x'],
    ['a coprocess with a name', 'coproc NAME { rm x; }'],
    ['a backslash', 'r\\m x'],
    ['a backslash against aliases', '\\rm x'],
    ['what follows a remark that ends in a backslash', 'ls # a\\\nrm x'],
    ['a continued name', 'r\\\nm x'],
    ['a subshell', '(rm x)'],
    ['a group', '{ rm x; }'],
    ['a negation', '! rm x'],
    ['the background', 'rm x &'],
    ['behind the background', 'ls & rm x'],
    ['a redirection', 'rm x > /dev/null 2>&1'],
    ['a redirection in front', '>f rm x'],
    ['a redirection in between', 'rm >f x'],
    ['a redirection in a pipeline', 'ls | rm >f x'],
    ['an assignment', 'A=1 B="2 3" rm x'],
    ['a condition', 'if rm x; then ls; fi'],
    ['what follows a condition', 'if true; then rm x; else ls; fi'],
    ['a loop', 'for i in a b; do rm x; done'],
    ['a counting loop', 'for ((i=0; i<1; i++)); do rm x; done'],
    ['a case', 'case a in a) rm x;; esac'],
    ['a function', 'f() { rm x; }; f'],
    ['a substitution', 'echo $(rm x)'],
    ['backquotes', 'echo `rm x`'],
    ['a substitution in quotes', 'echo "a $(rm x) b"'],
    ['a substitution as a name', '$(rm x)'],
    ['a substitution that is assigned', 'a=$(rm x)'],
    ['a process substitution', 'cat <(rm x)'],
    ['a here-document', 'cat <<E\n$(rm x)\nE'],
    ['a pipe behind a here-document', 'cat <<E | rm x\nfoo\nE'],
    ['both streams piped', 'ls |& rm x'],
    ['a shell with a line', 'bash -lc "rm x"'],
    ['a shell with options', `/bin/sh -e -o pipefail -c 'ls; rm x' name`],
    ['a shell started by another', `sudo sh -c 'rm x'`],
    ['a shell in a shell', `bash -c "sh -c 'rm x'"`],
    ['another user', `su -c 'rm x' root`],
    ['eval', 'eval rm x'],
    ['eval of a text', 'eval "rm x"'],
    ['env', 'env rm x'],
    ['env with options', 'env -i -u A B=1 rm x'],
    ['env that splits', `env -S 'rm x'`],
    ['env that splits its own word', `env -S'rm x'`],
    ['a line for a lock', `flock f -c 'rm x'`],
    ['nsenter', 'nsenter -t 1 -m rm x'],
    ['command', 'command -p rm x'],
    ['sudo', 'sudo rm x'],
    ['sudo with options', 'sudo -nu root A=1 rm x'],
    ['sudo with long options', 'sudo --user root --non-interactive rm x'],
    ['sudo with an end of options', 'sudo -- rm x'],
    ['nohup', 'nohup rm x &'],
    ['time', 'time -p rm x'],
    ['timeout', 'timeout -k 3 5 rm x'],
    ['nice', 'nice -n 5 rm x'],
    ['nice with the value in one word', 'nice -n5 rm x'],
    ['xargs', 'ls | xargs -n 1 rm x'],
    ['find', 'find . -name a -exec rm x \\;'],
    ['exec', 'exec -a y rm x'],
    ['unshare', 'unshare -r rm x'],
    ['setpriv', 'setpriv --reuid 1 rm x'],
    ['taskset', 'taskset -c 0 rm x'],
    ['chrt', 'chrt -f 5 rm x'],
    ['trap', `trap 'rm x' EXIT`],
    ['script', `script -qc 'rm x' f`],
    ['pkexec', 'pkexec --user root rm x'],
    ['systemd-run', 'systemd-run --user -p A=1 rm x'],
    ['parallel', 'parallel -j 2 rm x'],
    ['runuser', 'runuser -u root -- rm x'],
    ['a line in the word of its option', `su --command='rm x' root`],
    ['several of them', 'nohup env A=1 nice sudo /usr/bin/env rm x'],
    ['an error behind it', 'rm x\n)'],
    ['an error in front of it', ') ; rm x'],
    ['an error that the shell does not make', 'cat << E; rm x\nfoo\nE'],
    ['a character that the grammar takes for a blank', 'ls\u00a0; rm x'],
  ])('sees %s', (_what, line) => {
    expect(found(line).map((each) => each.replace(/ ;$/, ''))).toContain('rm x');
  });

  it.each([
    ['a word', 'echo rm x'],
    ['a text', 'echo "rm x"'],
    ['a comment', 'ls # rm x'],
    ['a question for the place', 'command -v rm x'],
    ['a here-document', 'cat <<E\nrm x\nE'],
    ['backquotes in a quoted here-document', "cat <<'E'\n`rm x`\nE"],
    ['backquotes in quotes', "echo 'use `rm x`'"],
    ['an operand behind a started command', 'env -i grep rm x'],
    ['a value of an option', 'sudo -u rm x'],
  ])('does not take %s for a command', (_what, line) => {
    expect(found(line)).not.toContain('rm x');
  });

  it('leaves out what is made when it runs, not what stands beside it', () => {
    expect(found('rm "$x" y')).toEqual(['rm ? y']);
    expect(found('$x y')).toEqual(['? y']);
    expect(found('export A=1')).toEqual(['export ?']);
  });

  it.each([
    ['groups in groups', `${'('.repeat(2_000)}rm x${')'.repeat(2_000)}`],
    ['a long line', `${'a '.repeat(50_000)}; rm x`],
    ['signs of sums without end', `${'$['.repeat(16_000)}rm x`],
    ['many options', `sudo ${'--a '.repeat(2_000)}rm x`],
    ['many starters', `${'env '.repeat(510)}rm x`],
    ['starters up to the longest line', `${'env '.repeat(8_000)}rm x`],
    ['options that may be values', `${'sudo --a '.repeat(5_000)}rm x`],
    ['one word many times', `${'eval '.repeat(1_000)}rm x`],
    ['many commands', `${'true\n'.repeat(5_000)}rm x`],
    ['starters before a line of many commands', `${'env '.repeat(150)}-S '${'a;'.repeat(20_000)}rm x'`],
    ['words behind a redirection of a long list', `${'a && '.repeat(800)}rm >b ${'c '.repeat(800)}; rm x`],
    ['backslashes and line ends', `${'\\'.repeat(4_000)}${'\n'.repeat(4_000)}rm x`],
    ['shells in shells', Array.from({ length: 7 }).reduce<string>((line) => `sh -c ${quoted(line)}`, 'rm x')],
    ['what the grammar stumbles over', `${'a;) '.repeat(16_000)}rm x`],
    ['pipes', `${'a | '.repeat(16_000)}rm x`],
    ['pipes without end', '|'.repeat(60_000)],
    ['redirections without end', '>'.repeat(60_000)],
    ['open lists', `${'a=('.repeat(16_000)}rm x`],
  ])('finds a command behind %s, or says that it has not seen all, within its bounds', (_what, line) => {
    const { commands, isWhole, parsed } = shell.everyCommand(line);
    expect(!isWhole || commands.some((argv) => argv.join(' ') === 'rm x')).toBe(true);
    expect(commands.length).toBeLessThanOrEqual(2_000);
    expect(commands.reduce((sum, argv) => sum + argv.length, 0)).toBeLessThanOrEqual(20_000);
    expect(parsed).toBeLessThanOrEqual(50);
    expect(found('rm x')).toEqual(['rm x']);
  });

  it('parses the same text once, and continued lines once more', () => {
    expect(shell.everyCommand(`${'env '.repeat(100)}-S 'rm x'`)).toMatchObject({ parsed: 2, isWhole: true });
    expect(shell.everyCommand(`a ${'\\\n'.repeat(500)}b`).parsed).toBe(2);
    expect(shell.everyCommand(`${'\\'.repeat(500)}${'\n'.repeat(500)}`).parsed).toBe(2);
  });

  it('gives words behind a redirection to the last command of a list only', () => {
    expect(found('a && b | c > f d')).toEqual(['a', 'b', 'c d']);
  });

  it.each([
    'echo rm x | sh',
    'echo rm x | sudo bash -e',
    'bash <<< "rm x"',
    'sh <<E\nrm x\nE',
    'echo rm x | { su root; }',
    'sh <(echo rm x)',
    'f() { sh; }; echo rm x | f',
    '. /dev/stdin <<< "rm x"',
    'echo rm x | parallel',
  ])('says that it has not seen all of %j', (line) => {
    expect(shell.everyCommand(line).isWhole).toBe(false);
  });

  it.each(['ls | grep x', 'ls | sh -c "cat"', 'ls | bash x.sh', 'sh || ls', 'bash', 'cat <<E\nx\nE'])(
    'has seen all of %j',
    (line) => {
      expect(shell.everyCommand(line).isWhole).toBe(true);
    },
  );
});
