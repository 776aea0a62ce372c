// What the model's words about waiting, terminals and input come to.

import { expect, test } from 'vitest';
import { commandTool } from '../../../../src/agent/backends/command-tool.ts';
import { stdinTool } from '../../../../src/agent/backends/stdin-tool.ts';
import { house, turnOf, userSays } from './turn.ts';

const call = (name: string, args: unknown) => ({
  type: 'toolCall' as const,
  callId: 'c',
  name,
  arguments: JSON.stringify(args),
});

test.each([
  [
    { session_id: 12345, chars: 'x' },
    { chars: 'x', waitMs: 250 },
  ],
  [
    { session_id: 12345, chars: 'x', yield_time_ms: 1 },
    { chars: 'x', waitMs: 250 },
  ],
  [
    { session_id: 12345, chars: 'x', yield_time_ms: 1e9 },
    { chars: 'x', waitMs: 30_000 },
  ],
  [{ session_id: 12345 }, { chars: '', waitMs: 5_000 }],
  [
    { session_id: 12345, chars: null, yield_time_ms: 10 },
    { chars: '', waitMs: 5_000 },
  ],
  [
    { session_id: 12345, chars: '', yield_time_ms: 1e9 },
    { chars: '', waitMs: 300_000 },
  ],
])('%j waits within its bounds', async (args, input) => {
  const tools = house();
  const { output, success } = await stdinTool.run(call('write_stdin', args), turnOf([userSays('go')]), tools);
  expect(tools.inputs).toEqual([{ session: '12345', ...input }]);
  expect({ success, output }).toEqual({
    success: true,
    output: expect.stringMatching(/session ID 12345\n[\s\S]*\nmore$/),
  });
});

test.each([{}, { session_id: 'x' }, { session_id: 1.5 }, { session_id: 1, chars: 7 }])(
  '%j goes back to the model as text',
  async (args) => {
    const tools = house();
    const answer = await stdinTool.run(call('write_stdin', args), turnOf([userSays('go')]), tools);
    expect(answer).toEqual({ success: false, output: expect.stringMatching(/write_stdin do not fit/) });
    expect(tools.inputs).toEqual([]);
  },
);

test.each([
  [{}, { yieldMs: 10_000 }],
  [{ yield_time_ms: 0 }, { yieldMs: 250 }],
  [{ yield_time_ms: 1e9 }, { yieldMs: 3_600_000 }],
  [{ tty: true }, { yieldMs: 10_000, onTerminal: true }],
  [{ tty: false, login: true }, { yieldMs: 10_000 }],
  [{ shell: '/usr/bin/zsh' }, { yieldMs: 10_000, shell: { program: '/usr/bin/zsh' } }],
  [
    { shell: 'dash', login: false },
    { yieldMs: 10_000, shell: { program: 'dash', isLogin: false } },
  ],
])('a command with %j', async (args, wish) => {
  const tools = house();
  await commandTool.run(call('exec_command', { cmd: 'x', ...args }), turnOf([userSays('go')]), tools);
  const plain = { line: 'x', cwd: '/workspace', escalate: false, reason: null };
  expect(tools.commands.map(({ command }) => command)).toEqual([{ ...plain, ...wish }]);
});

test.each(['python3', '/tmp/bash', '../bin/sh', 'bash -x', '/bin/../tmp/sh', ''])(
  'the shell %j is none that can be chosen',
  async (shell) => {
    const tools = house();
    const given = call('exec_command', { cmd: 'x', shell });
    expect((await commandTool.run(given, turnOf([userSays('go')]), tools)).output).toMatch(/not a shell/);
    expect(tools.commands).toEqual([]);
  },
);
