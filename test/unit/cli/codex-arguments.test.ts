// The command line of the reference in the words of our own.

import { expect, it } from 'vitest';
import { codexArguments } from '../../../src/cli/codex-arguments.ts';

it.each([['-c', 'model=x'], ['-cmodel=x'], ['-c=model=x'], ['--config', 'model=x'], ['--config=model=x']])(
  'takes a setting as %s %s',
  (...typed) => {
    const given = typed.filter((word) => word !== undefined);
    for (const argv of [
      [...given, 'app-server'],
      ['app-server', ...given],
    ]) {
      const meant = codexArguments(argv);
      expect('argv' in meant && meant.argv.slice(-3)).toEqual(['-c', 'model=x', '--shared']);
    }
  },
);

it('leaves settings out where no server is started', () => {
  const argv = ['-c', 'a=1', 'app-server', 'daemon', 'stop'];
  expect(codexArguments(argv)).toEqual({ argv: ['app-server', 'daemon', 'stop'] });
});

it.each([[['app-server', '--version']], [['app-server', '-V']], [['-c', 'a=1', 'app-server', 'daemon', '--version']]])(
  'has a version only without a command: %j',
  (argv) => {
    expect(codexArguments(argv)).toMatchObject({ problem: expect.stringContaining('`heddle-codex --version`') });
  },
);

it.each([[['-c']], [['app-server', '--enable']]])('misses the value of %j', (argv) => {
  expect(codexArguments(argv)).toMatchObject({ problem: expect.stringContaining('needs a value') });
});
