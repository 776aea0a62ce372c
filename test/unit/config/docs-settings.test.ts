// The settings in the documents: each key is one, none is left out, and defaults are what counts without a file.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { configSchema, noteOfUnknown } from '../../../src/cli/config-schema.ts';
import { Config } from '../../../src/config/schema.ts';

const read = (page: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../docs/${page}`, import.meta.url)), 'utf8');

interface Row {
  readonly path: string;
  readonly standard: string;
}

/** The rows of tables whose first cell names keys; `below` goes before each. */
function rowsOf(page: string, below = ''): readonly Row[] {
  const rows = [...read(page).matchAll(/^\| (`[^|]*?) \| ([^|]*?) \| ([^|]*?) \| /gm)];
  return rows.flatMap(([, keys, , standard]) =>
    [...keys!.matchAll(/`([^`]+)`/g)].map(([, key]) => ({ path: `${below}${key}`, standard: standard! })),
  );
}

const ROWS = [
  ...rowsOf('settings.md'),
  ...rowsOf('providers.md', 'model_providers.<id>.'),
  ...rowsOf('mcp-servers.md', 'mcp_servers.<name>.'),
];

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
}

/** The paths of all settings; `<>` stands for any name. */
function pathsOf({ properties, additionalProperties: others }: Node, before = ''): readonly string[] {
  const named = Object.entries(properties ?? {}).flatMap(([name, inner]) => pathsOf(inner, `${before}.${name}`));
  // A table with names of its own takes others too, which do nothing.
  const any = properties === undefined && typeof others === 'object' ? pathsOf(others, `${before}.<>`) : [];
  return named.length + any.length === 0 ? [before.slice(1)] : [...named, ...any];
}
const plain = (path: string): string => path.replaceAll(/<[^>]*>/g, '<>');

test('each key in the documents is a setting', () => {
  expect(ROWS.length).toBeGreaterThan(70);
  const unknown = ROWS.filter(({ path }) => noteOfUnknown(path.split('.')) !== undefined);
  expect(unknown.map(({ path }) => path)).toEqual([]);
});

test('each setting is in the documents, itself or with the table that it is in', () => {
  const ofPages = ['model_providers', 'mcp_servers'];
  const told = ROWS.map(({ path }) => plain(path)).filter((path) => !ofPages.includes(path));
  const missing = pathsOf(configSchema() as Node).filter(
    (path) => !told.some((each) => `${path}.`.startsWith(`${each}.`)),
  );
  expect(missing).toEqual([]);
});

test('defaults are those that the documents name', () => {
  const config: unknown = Config().parse({});
  const inForce = (path: string): unknown =>
    path.split('.').reduce<unknown>((table, name) => (table as Record<string, unknown> | undefined)?.[name], config);
  const wrong = rowsOf('settings.md').flatMap(({ path, standard }) => {
    const literal = /^`([^`]*)`$/.exec(standard)?.[1];
    const value = inForce(path);
    const words = typeof value === 'string' ? value : JSON.stringify(value);
    return literal === undefined || value === undefined || value === null || words === literal
      ? []
      : [[path, literal, words]];
  });
  expect(wrong).toEqual([]);
});
