// What finds files of its own, or starts itself again, works from one CommonJS bundle too.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const PROGRAM = `
  import { createChildren } from './src/children/spawn.ts';
  import { loadShellParser } from './src/children/shell-line.ts';
  import { text } from 'node:stream/consumers';
  async function main() {
    // Nothing of ours keeps a process alive.
    const alive = setInterval(() => {}, 2 ** 30);
    const shell = await loadShellParser();
    const children = createChildren();
    const spec = { argv: ['echo', 'started'], cwd: '/', env: { PATH: '/usr/bin:/bin' }, stdin: 'none', output: 'merged' } as const;
    const child = await children.start(spec, new AbortController().signal);
    const said = (await text(child.stdout)).trim();
    await children.close();
    clearInterval(alive);
    console.log(JSON.stringify({ commands: shell.simpleCommands('a b | c')?.length, said }));
  }
  void main();
`;

it('parses lines and starts children from a bundle', async () => {
  const folder = mkdtempSync(join(root, 'node_modules/.heddle-bundle-'));
  try {
    const outfile = join(folder, 'bundle.cjs');
    const { outputFiles } = await build({
      stdin: { contents: PROGRAM, resolveDir: root, loader: 'ts' },
      bundle: true,
      write: false,
      minify: true,
      platform: 'node',
      format: 'cjs',
      logLevel: 'silent',
    });
    writeFileSync(outfile, outputFiles[0]!.contents);
    expect(JSON.parse(execFileSync(process.execPath, [outfile], { encoding: 'utf8' }))).toEqual({
      commands: 2,
      said: 'started',
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
