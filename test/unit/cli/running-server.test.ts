// The flags that lead to the same server again, as they are typed.

import { expect, test } from 'vitest';
import { flagsTo } from '../../../src/cli/running-server.ts';

const HERE = { remote: undefined, tokenVariable: undefined, dataDir: undefined };

test('a command that was told of no server leads to it without flags', () => {
  expect(flagsTo(HERE)).toBe('');
});

test('one that was told of a server names it again, as a shell reads it', () => {
  expect(flagsTo({ ...HERE, remote: 'wss://host.example', tokenVariable: 'TOKEN' })).toBe(
    ' --remote wss://host.example --remote-auth-token-env TOKEN',
  );
  expect(flagsTo({ ...HERE, dataDir: "/home/my user's" })).toBe(" --data-dir '/home/my user'\\''s'");
});
