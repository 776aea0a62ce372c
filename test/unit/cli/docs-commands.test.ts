// The command lines in the documents: each command and each flag that is shown is there, and the page of the server's flags has all.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type CommandNode, treeOf } from '../../../src/cli/command-tree.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)];
const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8').replaceAll('\\\n', ' ');
const TREE = treeOf(COMMANDS);
const EVERYWHERE = ['--help', '-h', '--version'];

/** What stands in code, and there behind the name of the executable, up to where a shell or a remark would end it. */
function commandLines(page: string): readonly string[] {
  const text = read(page);
  const blocks = [...text.matchAll(/^```[^\n]*\n(.*?)^```/gms)].flatMap(([, block]) => block!.split('\n'));
  const spans = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);
  const shown = [
    ...blocks.flatMap((line) => /^(?:\$ )?(?:[A-Z_]+=\S+ |echo .*\| |source <\()?heddle (.*)$/.exec(line)?.[1] ?? []),
    ...spans.flatMap((span) => /^heddle (.*)$/.exec(span)?.[1] ?? []),
  ];
  return shown.map((line) => line.replace(/\s(#|<|>|&&|;|\|\s).*$|\)$/, ''));
}

const wordsOf = (line: string): readonly string[] => line.match(/"(?:\\.|[^"])*"|'[^']*'|\S+/g) ?? [];

const alternatives = (word: string): readonly string[] => word.split(/\\?\|/);

/** Words to choose from, such as `start`. */
function wrongChoice({ positionals: [first] }: CommandNode, word: string | undefined): readonly string[] {
  const choices = first?.values;
  if (typeof choices !== 'object' || !/^[a-z]/.test(word ?? '')) return [];
  return alternatives(word!).flatMap((each) => (choices.includes(each) ? [] : [`no command ${each}`]));
}

/** What is wrong with a line; `a|b` stands for either. */
function faultsOf(line: string): readonly string[] {
  const words = wordsOf(line);
  const descend = (node: CommandNode, at: number): readonly string[] => {
    const word = words[at];
    const isName = word !== undefined && /^[a-z][a-z|\\-]*$/.test(word);
    if (!isName || node.commands.length === 0)
      return [...wrongChoice(node, word), ...unknownFlags(node, words.slice(at))];
    return alternatives(word).flatMap((name) => {
      const inner = node.commands.find((each) => each.name === name);
      return inner ? descend(inner, at + 1) : [`no command ${name}`];
    });
  };
  return descend(TREE, 0);
}

function unknownFlags(node: CommandNode, words: readonly string[]): readonly string[] {
  const known = [...EVERYWHERE, ...node.options.flatMap(({ names }) => names)];
  const flags = words
    .filter((word) => /^--?[a-z]/i.test(word))
    .flatMap((word) => word.replace(/^\[|\]$/g, '').split('=')[0]!);
  return flags.filter((flag) => !known.includes(flag)).map((flag) => `no flag ${flag}`);
}

test.each(PAGES)('%s shows commands that there are', (page) => {
  const faults = commandLines(page).map((line) => [line, faultsOf(line)] as const);
  expect(faults.filter(([, wrong]) => wrong.length > 0)).toEqual([]);
});

test('commands are found in the pages, and what is wrong with one is', () => {
  expect(commandLines('docs/cli.md').length).toBeGreaterThan(40);
  expect(commandLines('README.md')).toContain('exec --backend mock "say Good morning"');
  expect(faultsOf('app-server daemon start|stopp')).toEqual(['no command stopp']);
  expect(faultsOf('exec "say x" --jsn')).toEqual(['no flag --jsn']);
});

test('docs/server-flags.md has each flag of the server, and no other', () => {
  const server = TREE.commands.find(({ name }) => name === 'app-server')!;
  const table = [...read('docs/server-flags.md').matchAll(/^\| (`-.*?) \|/gm)].map(([, cell]) => cell!);
  const named = table.flatMap((cell) => [...cell.matchAll(/`(-[^`\s]+)`/g)].map(([, flag]) => flag!));
  expect(named.toSorted()).toEqual(server.options.flatMap(({ names }) => names).toSorted());
});

test('docs/cli.md has each command', () => {
  const page = read('docs/cli.md');
  const missing = TREE.commands.flatMap(({ name, commands }) => {
    const row = page.split('\n').find((line) => line.startsWith(`| \`heddle ${name}`));
    if (row === undefined) return [name];
    return commands
      .filter((each) => each.describe !== '' && !row.includes(each.name))
      .map((each) => `${name} ${each.name}`);
  });
  expect(missing).toEqual([]);
});
