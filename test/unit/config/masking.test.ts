// What of a command line is shown to readers of settings: everything but secrets.

import { expect, test } from 'vitest';
import { masked } from '../../../src/config/masking.ts';

test.each([
  [
    ['--api-key', 'abc', '--verbose', 'x'],
    ['--api-key', '********', '--verbose', 'x'],
  ],
  [
    ['--token=abc', '--port=8080'],
    ['--token=********', '--port=8080'],
  ],
  [
    ['-y', 'server', '--github-pat', 'abc'],
    ['-y', 'server', '--github-pat', '********'],
  ],
  [
    ['--token', '--flag'],
    ['--token', '--flag'],
  ],
  [
    ['API_KEY=abc', 'MODE=fast'],
    ['API_KEY=********', 'MODE=fast'],
  ],
  [
    ['-H', 'Authorization: Bearer abc.def'],
    ['-H', 'Authorization: Bearer ********'],
  ],
  [
    ['-H', 'X-Api-Key: abc', '-H', 'Accept: text/plain'],
    ['-H', 'X-Api-Key: ********', '-H', 'Accept: text/plain'],
  ],
  [
    ['-u', 'ann:secret'],
    ['-u', 'ann:********'],
  ],
  [['https://ann:secret@host/x?token=abc'], ['https://********@host/x?********']],
  [
    ['-c', 'curl "https://a:b@host/p" TOKEN=x'],
    ['-c', 'curl "https://********@host/p" TOKEN=********'],
  ],
  [
    ['sk-0123456789abcdef', 'ghp_0123456789abcdef'],
    ['********', '********'],
  ],
  [
    ['--monkey', 'banana', '/home/ann/project', 'a:b'],
    ['--monkey', 'banana', '/home/ann/project', 'a:b'],
  ],
])('%j is shown as %j', (args, shown) => {
  expect(masked({ mcp_servers: { one: { command: 'run', args } } })).toEqual({
    mcp_servers: { one: { command: 'run', args: shown } },
  });
});

test('a word of a million letters keeps nobody waiting, and hides no secret behind it', () => {
  const word = 'a'.repeat(1_000_000);
  const { command } = masked({ command: `${word} ${word}_TOKEN=x ${word}https://ann:secret@host/` });
  expect(command).toBe(`${word} ${word}_TOKEN=******** ${word}https://********@host/`);
});
