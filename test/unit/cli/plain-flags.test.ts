// The quick reader of plain server flags understands what the command line library understands, or leaves it alone.

import { describe, expect, test, vi } from 'vitest';
import { runCommand } from '../../../src/cli/commands.ts';
import { plainServerFlags } from '../../../src/cli/plain-flags.ts';
import type { ServerFlags } from '../../../src/cli/server-flags.ts';
import { fc } from '../../harness/chance.ts';

const served: ServerFlags[] = [];
vi.mock('../../../src/cli/serve.ts', () => ({
  serve: async (flags: ServerFlags) => {
    served.push(flags);
    return 0;
  },
}));

/** What the library makes of the arguments, or undefined when it refuses them. */
async function byLibrary(argv: readonly string[]): Promise<ServerFlags | undefined> {
  served.length = 0;
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const stdout = vi.spyOn(console, 'log').mockReturnValue();
  try {
    await runCommand(argv);
    return served[0];
  } finally {
    stderr.mockRestore();
    stdout.mockRestore();
  }
}

const word = fc.constantFrom(
  'app-server',
  'status',
  'mock',
  'ws://127.0.0.1:0',
  'unix://',
  'a=b',
  '/tmp/data',
  '-',
  '',
);
const flag = fc.constantFrom(
  '--listen',
  '-c',
  '--config',
  '--backend',
  '--data-dir',
  '--stdio',
  '--json',
  '--listen=off',
  '-ca=b',
  '--',
);
const pair = fc
  .tuple(fc.constantFrom('--listen', '-c', '--config', '--backend', '--data-dir'), word)
  .map((each) => [...each]);
const argument = fc.oneof(
  { weight: 5, arbitrary: pair },
  { weight: 1, arbitrary: fc.oneof(word, flag, fc.constant('--stdio')).map((each) => [each]) },
);

describe('plain flags', () => {
  test('read the usual forms', () => {
    expect(plainServerFlags(['app-server'])).toEqual({ listen: [], config: [], auth: {} });
    const argv = [
      '-c',
      'a=1',
      'app-server',
      '--stdio',
      '--listen',
      'unix://',
      '--backend',
      'mock',
      '--data-dir',
      '/d',
      '-c',
      'b=2',
    ];
    expect(plainServerFlags(argv)).toEqual({
      backend: 'mock',
      dataDir: '/d',
      listen: ['stdio://', 'unix://'],
      config: ['a=1', 'b=2'],
      auth: {},
    });
  });

  test.each([
    [[]],
    [['exec', 'x']],
    [['app-server', 'status']],
    [['app-server', '--help']],
    [['--listen', 'off', 'app-server']],
  ])('leave %j to the library', (argv) => expect(plainServerFlags(argv)).toBeUndefined());

  test('never read anything otherwise than the library does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { maxLength: 5 }), async (rest) => {
        const argv = ['app-server', ...rest.flat()];
        const flags = plainServerFlags(argv);
        fc.pre(flags !== undefined);
        expect(await byLibrary(argv)).toEqual(flags);
      }),
      { numRuns: 150 },
    );
  });
});
