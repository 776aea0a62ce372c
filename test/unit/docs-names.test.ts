// Names in the documents: files of the source, methods, scripts and variables that they speak of are there.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { FEATURES } from '../../src/app-features.ts';
import { clientNotifications, notifications, requests, serverRequests } from '../../src/protocol.ts';
import { HIGH_WATER } from '../../src/rpc/outbox.ts';
import { MAX_IN_FLIGHT, MAX_IN_FLIGHT_BYTES, MAX_STOPS } from '../../src/rpc/peer.ts';
import { METHOD_GROUPS } from '../../src/rpc/protocol-methods.ts';
import { FRAME_LIMIT, FRAME_LIMIT_BEFORE_INITIALIZE } from '../../src/transports/connection.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const docs = readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`);
const PAGES = ['README.md', 'bench/README.md', 'conformance/README.md', 'conformance/kit/README.md', ...docs];
const SOURCES = ['src', 'test', 'bench', 'conformance', 'examples', 'scripts', 'bin'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name))),
);
/** What stands between backticks in the lines of a page, code blocks left out. */
const spans = (page: string): readonly string[] =>
  [
    ...read(page)
      .replaceAll(/^```.*?^```/gms, '')
      .matchAll(/`([^`\n]+)`/g),
  ].map(([, text]) => text!);

test.each(PAGES)('the files of the source that %s names are there', (page) => {
  const named = spans(page).filter((text) => /^[\w./-]+\.(ts|mjs|cjs|sh)$/.test(text) && !text.startsWith('dist/'));
  const written = ['protocol.ts'];
  const missing = named
    .map((file) => file.replace(/^(\.\.?\/)+/, ''))
    .filter((file) => !SOURCES.some((each) => `/${each}`.endsWith(`/${file}`)));
  expect(missing.filter((file) => !written.includes(file))).toEqual([]);
});

test.each(PAGES)('the methods that %s names are methods', (page) => {
  const declared = [requests, serverRequests, notifications, clientNotifications]
    .flatMap((group) => Object.values(group))
    .map(({ method }) => method);
  const known = new Set([
    ...declared,
    ...METHOD_GROUPS.flatMap(({ stable, experimental }) => [...stable, ...experimental]),
  ]);
  const nouns = new Set([...known].filter((method) => method.includes('/')).map((method) => method.split('/')[0]));
  const isFolder = (text: string) => existsSync(join(ROOT, 'src', text));
  const named = spans(page).filter(
    (text) => /^[a-z]\w*(\/\w+)+$/i.test(text) && nouns.has(text.split('/')[0]) && !isFolder(text),
  );
  /** The last part of one whose beginning stands before it. */
  const isRest = (text: string) => [...known].some((method) => method.endsWith(`/${text}`));
  expect(named.filter((text) => !known.has(text) && !isRest(text))).toEqual([]);
});

test('the scripts of the package that are named are there', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = PAGES.flatMap((page) => [...read(page).matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name]) => name!));
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});

test('the variables that are named are read', () => {
  const named = PAGES.flatMap((page) => read(page).match(/\bHEDDLE_[A-Z]+\b/g) ?? []);
  const code = SOURCES.filter((file) => /\.(ts|mjs|sh)$/.test(file))
    .map(read)
    .join('\n');
  expect([...new Set(named)].filter((name) => !code.includes(name))).toEqual([]);
});

test('what the page of the protocol shows of `initialize` is what is answered', () => {
  const shown = JSON.parse(/"server":(\{[^`]*?\})\}\n```/.exec(read('docs/protocol.md'))![1]!);
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const limits = {
    frameBytesBeforeInitialize: FRAME_LIMIT_BEFORE_INITIALIZE,
    frameBytes: FRAME_LIMIT,
    requestsInFlight: MAX_IN_FLIGHT,
    requestBytesInFlight: MAX_IN_FLIGHT_BYTES,
    stopsInFlight: MAX_STOPS,
    outboxBytes: HIGH_WATER,
  };
  expect(shown).toEqual({ name: 'heddle', version, limits, features: FEATURES });
});
