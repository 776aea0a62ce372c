// Names of tools for models: what providers take, unique, and the same each time.

import { expect, test } from 'vitest';
import { offeredTools } from '../../../src/mcp/tool-names.ts';

const tools = (...names: string[]) => names.map((name) => ({ name, inputSchema: { type: 'object' as const } }));
const namesOf = (...servers: Parameters<typeof offeredTools>[0][number][]) =>
  offeredTools(servers).map(({ name }) => name);

test('a plain name is the names of server and tool', () => {
  expect(namesOf({ server: 'demo', tools: tools('echo', 'read-file') })).toEqual([
    'mcp__demo__echo',
    'mcp__demo__read-file',
  ]);
});

test('what providers do not take becomes a line, and clashes are told apart the same way each time', () => {
  const all = { server: 'demo', tools: tools('a.b', 'a_b', 'ä b') };
  const names = namesOf(all);
  expect(names[0]).toBe('mcp__demo__a_b');
  expect(names[1]).toMatch(/^mcp__demo__a_b_[0-9a-f]{8}$/);
  expect(names[2]).toBe('mcp__demo____b');
  expect(new Set(names).size).toBe(3);
  expect(namesOf(all)).toEqual(names);
});

test('a long name is cut, and stays unique', () => {
  const long = 'x'.repeat(100);
  const names = namesOf(
    { server: 'demo', tools: tools(`${long}1`, `${long}2`) },
    { server: 'demo2', tools: tools(long) },
  );
  expect(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true);
  expect(new Set(names).size).toBe(3);
});
