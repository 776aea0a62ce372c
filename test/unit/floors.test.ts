// The floors of the architecture, held against the imports of the source: never up, never sideways, and so never in a circle.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));

/** Lowest first. A room may import rooms of lower floors; rooms of one floor do not know each other. */
const FLOORS: readonly (readonly string[])[] = [
  ['base'],
  ['model'],
  ['auth', 'children', 'sandbox', 'history'],
  ['transports'],
  ['rpc'],
  ['handshake', 'config'],
  ['approvals', 'fs', 'process', 'account'],
  ['mcp', 'skills'],
  ['agent'],
  ['threads'],
  ['protocol.ts'],
  ['app.ts', 'client'],
  ['cli', 'index.ts'],
];

/** Files beside app.ts that are part of it. */
const PARTS_OF: ReadonlyMap<string, string> = new Map([
  ['app-backend.ts', 'app.ts'],
  ['app-config.ts', 'app.ts'],
  ['app-options.ts', 'app.ts'],
  ['app-features.ts', 'app.ts'],
  ['app-mcp.ts', 'app.ts'],
  ['app-safety.ts', 'app.ts'],
]);

/** Inside agent: what drives models knows nothing of the house above this floor. */
const MODEL_SIDE = /^agent\/(backends|models)\//;
const MODEL_SIDE_FLOOR = 4;

const READS_ENVIRONMENT = /\bprocess\.env\b/;
const MAY_READ_ENVIRONMENT = /^(app\.ts|app-backend\.ts|cli\/)/;

interface Import {
  readonly from: string;
  /** Path below src, or the name of a package. */
  readonly to: string;
  readonly isPackage: boolean;
}

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
  .map((file) => file.split(sep).join('/'))
  .toSorted();

const texts = new Map(files.map((file) => [file, readFileSync(join(SOURCE, file), 'utf8')]));
const imports = files.flatMap((file) => importsOf(file, texts.get(file)!));

/** Type imports count, and so do re-exports, dynamic imports and types named by `import('…')`. */
function importsOf(file: string, text: string): Import[] {
  const statements = text.matchAll(/^\s*(?:import|export)\s(?:[^'";]*?\sfrom\s)?['"]([^'"]+)['"]/gm);
  const calls = withoutComments(text).matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g);
  return [...statements, ...calls].map(([, to]) => {
    const isPackage = !to!.startsWith('.');
    const path = isPackage
      ? to!
      : relative(SOURCE, join(SOURCE, dirname(file), to!))
          .split(sep)
          .join('/');
    return { from: file, to: path, isPackage };
  });
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
}

function roomOf(file: string): string {
  const [room] = file.split('/');
  return PARTS_OF.get(room!) ?? room!;
}

const floorOf = (file: string): number => FLOORS.findIndex((rooms) => rooms.includes(roomOf(file)));

const own = imports.filter(({ isPackage }) => !isPackage);
const shown = ({ from, to }: Import): string => `${from} imports ${to}`;

test('the source is found, with its imports', () => {
  expect(files.length).toBeGreaterThan(100);
  expect(own.map(shown)).toContain('app.ts imports threads/registry.ts');
  expect(own.filter(({ to }) => !texts.has(to)).map(shown)).toEqual([]);
});

test('every file belongs to a room of the table', () => {
  expect(files.filter((file) => floorOf(file) === -1)).toEqual([]);
});

test('a room imports only rooms on lower floors', () => {
  const wrong = own.filter(({ from, to }) => roomOf(from) !== roomOf(to) && floorOf(to) >= floorOf(from));
  expect(wrong.map(shown)).toEqual([]);
});

test('what drives models imports nothing of the house above it', () => {
  const wrong = own.filter(
    ({ from, to }) => MODEL_SIDE.test(from) && roomOf(to) !== 'agent' && floorOf(to) > MODEL_SIDE_FLOOR,
  );
  expect(wrong.map(shown)).toEqual([]);
});

/** They start servers and look at them; what a server starts has an owner, a mark and none of our open files. */
const MAY_START_PROGRAMS = /^(children|cli|client)\//;

test('what starts programs is in one room', () => {
  const starts = imports.filter(({ to }) => to === 'node:child_process');
  expect(starts.filter(({ from }) => !MAY_START_PROGRAMS.test(from)).map(shown)).toEqual([]);
});

test('declared methods import nothing but zod, the nouns, the declaring functions and each other', () => {
  const isDeclaration = (file: string): boolean => /(^|[/-])methods\.ts$/.test(file);
  const isPlain = (file: string): boolean => isDeclaration(file) || /\/(schema|overrides)\.ts$/.test(file);
  const wrong = imports.filter(({ from, to, isPackage }) => {
    if (!isDeclaration(from) || from.startsWith('rpc/')) return false;
    if (isPackage) return to !== 'zod';
    return roomOf(to) !== 'model' && to !== 'rpc/declare.ts' && !(roomOf(to) === roomOf(from) && isPlain(to));
  });
  expect(wrong.map(shown)).toEqual([]);
});

/** Of the client room, what runs in Node only. */
const NODE_SIDE: readonly string[] = ['client/node.ts', 'client/local.ts', 'client/server-process.ts'];

test('the client for browsers imports nothing of Node', () => {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const { to } of own.filter(({ from, to }) => from === file && isValueImport(file, to))) visit(to);
  };
  for (const file of files.filter((each) => each.startsWith('client/') && !NODE_SIDE.includes(each))) visit(file);
  const wrong = imports.filter(({ from, to }) => reached.has(from) && to.startsWith('node:'));
  expect(wrong.map(shown)).toEqual([]);
});

/** Type imports are gone when the client runs. */
function isValueImport(file: string, to: string): boolean {
  const name = to.split('/').at(-1)!.replaceAll('.', String.raw`\.`);
  return new RegExp(String.raw`^\s*(?:import|export)\s(?!type\s)[^;]*?['"][^'"]*\b${name}['"]`, 'm').test(
    texts.get(file)!,
  );
}

test('only the composition root and the command line read the environment', () => {
  const readers = files.filter((file) => READS_ENVIRONMENT.test(withoutComments(texts.get(file)!)));
  expect(readers.filter((file) => !MAY_READ_ENVIRONMENT.test(file))).toEqual([]);
});
