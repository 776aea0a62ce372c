// The documents: what they point at exists, what they show of the examples is what the examples are, and no example is left out.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const files = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const PAGES = ['README.md', 'bench/README.md', 'conformance/README.md', ...files('docs')];
const EXAMPLES = files('examples');
const text = PAGES.map(read).join('\n');

/** As the web pages of repositories make them of headings. */
function anchors(page: string): string[] {
  const headings = page.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.each(PAGES)('the links of %s lead somewhere', (page) => {
  const dead = [...read(page).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].filter(([, path, anchor]) => {
    const target = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path!));
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchors(read(target)).includes(anchor);
  });
  expect(dead.map(([link]) => link)).toEqual([]);
});

test('each example is named in the documents, and each one that they name is there', () => {
  const named = [...text.matchAll(/\bexamples\/[\w./-]*\w/g)].map(([path]) => path);
  expect([...new Set(named)].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(EXAMPLES.filter((file) => !named.includes(file))).toEqual([]);
});

test.each([
  ['docs/remote.md', 'examples/proxy/nginx.conf'],
  ['docs/remote.md', 'examples/proxy/Caddyfile'],
])('%s shows %s as it is', (page, example) => {
  const code = read(example);
  expect(read(page)).toContain(code.slice(code.indexOf('\n') + 1));
});
