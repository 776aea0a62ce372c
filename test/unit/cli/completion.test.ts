// What shells are told of a command line that is being typed, from the declarations of the commands themselves.

import { describe, expect, test } from 'vitest';
import { BACKENDS } from '../../../src/app-backend.ts';
import { type CommandNode, treeOf } from '../../../src/cli/command-tree.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { completionOf } from '../../../src/cli/completion-words.ts';

const tree = treeOf(COMMANDS);
const proposed = (...typed: readonly string[]) => completionOf(tree, typed).proposals.map(({ word }) => word);
const lookedUp = (...typed: readonly string[]) => completionOf(tree, typed).lookUp;

/** Every command, with the words that lead to it. */
function* everyCommand(node: CommandNode, path: readonly string[] = []): Generator<[readonly string[], CommandNode]> {
  yield [path, node];
  for (const each of node.commands) yield* everyCommand(each, [...path, each.name]);
}

describe.each([...everyCommand(tree)])('behind `heddle %j`', (path, { commands, options }) => {
  test('each of its commands and flags is proposed', () => {
    const shown = commands.filter((each) => each.describe !== '').map(({ name }) => name);
    if (shown.length > 0) expect(proposed(...path, '')).toEqual(shown);
    const flags = options.map(({ names }) => names[0]);
    expect(proposed(...path, '-')).toEqual(expect.arrayContaining([...flags, '--help']));
  });
});

test('hidden commands and flags are not proposed', () => {
  expect(proposed('history', 'p')).toEqual([]);
  expect(proposed('history', 'verify', '--he')).toEqual(['--help']);
});

test('a flag that stands once is not proposed twice, one that may be repeated is', () => {
  expect(proposed('exec', '--json', '--js')).toEqual([]);
  expect(proposed('exec', '--image', 'a.png', '--im')).toEqual(['--image']);
  expect(proposed('exec', '-C', '.', '--cd')).toEqual([]);
});

test('values come from where they are declared, behind a blank and behind =', () => {
  expect(proposed('exec', '--backend', '')).toEqual([...BACKENDS]);
  expect(completionOf(tree, ['exec', '--backend=m'])).toMatchObject({
    kept: '--backend=',
    proposals: [{ word: 'mock' }],
  });
  expect(proposed('app-server', 'daemon', 're')).toEqual(['restart']);
  expect(proposed('approvals', 'answer', '01a2', 'acc')).toEqual(['accept', 'acceptForSession']);
});

test('paths, variables and ids are looked up where they are', () => {
  expect(lookedUp('exec', '--cd', 's')).toBe('folder');
  expect(lookedUp('exec', '-C', '')).toBe('folder');
  expect(lookedUp('exec', '--output-schema=sc')).toBe('file');
  expect(lookedUp('history', 'import', '')).toBe('file');
  expect(lookedUp('threads', 'list', '--remote-auth-token-env', 'HED')).toBe('variable');
  expect(lookedUp('config', 'set', 'mod')).toBe('setting');
  expect(lookedUp('attach', '')).toBe('thread');
  expect(lookedUp('threads', 'show', '--json', '01')).toBe('thread');
  expect(lookedUp('threads', 'show', '01a2', '')).toBeUndefined();
  expect(lookedUp('approvals', 'answer', '')).toBe('approval');
  expect(lookedUp('exec', 'say ')).toBeUndefined();
});

test('ids are asked of the server that the flags lead to', () => {
  const typed = ['threads', 'show', '--data-dir=/srv/h', '--remote', 'unix:///s', ''];
  expect(completionOf(tree, typed).given).toEqual({ 'data-dir': '/srv/h', remote: 'unix:///s' });
});

test('words that bash took apart are one again', () => {
  expect(proposed('exec', '--backend', '=', 'm')).toEqual(['mock']);
  expect(proposed('exec', '--backend', '=')).toEqual([...BACKENDS]);
  expect(completionOf(tree, ['attach', '--remote', 'ws', ':', '//127.0.0.1', ':', '80', '']).given).toEqual({
    remote: 'ws://127.0.0.1:80',
  });
});

test('behind -- nothing is a flag, and what is not known proposes nothing', () => {
  expect(proposed('threads', 'show', '--', '--js')).toEqual([]);
  expect(proposed('nothing', '')).toEqual([]);
  expect(proposed('exec', '--no-such-flag', '')).toEqual([]);
});
