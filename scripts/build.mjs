// Builds the executable: one CommonJS file, because loading hundreds of files is most of what a start costs.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));

/** They load native code or WebAssembly that lies beside them, so they stay where they are. */
const KEPT_OUTSIDE = [
  'fs-native-extensions',
  'web-tree-sitter',
  'tree-sitter-bash',
  '@lydell/node-pty',
  '@parcel/watcher',
];

/** The file of lmdb's own CommonJS build; bundled from its ES modules it reads keys wrongly. */
const LMDB = path.join(ROOT, 'node_modules/lmdb/dist/index.cjs');

/** lmdb finds its native part from the place of its own file, which in the bundle is another one. */
const lmdbInPlace = {
  name: 'lmdb-in-place',
  setup(builder) {
    builder.onResolve({ filter: /^lmdb$/ }, () => ({ path: LMDB }));
    builder.onLoad({ filter: /[\\/]lmdb[\\/]dist[\\/]index\.cjs$/ }, async ({ path: file }) => {
      const source = await fs.promises.readFile(file, 'utf8');
      const place = "var __lmdbFile = require('node:module').createRequire(__filename).resolve('lmdb');\n";
      return { contents: place + source.replaceAll("'file:' + __filename", "'file:' + __lmdbFile"), loader: 'js' };
    });
  },
};

/** An optional speed-up of msgpackr, which we do not use: without it there is one native file less to load. */
const withoutExtractor = {
  name: 'without-msgpackr-extract',
  setup(builder) {
    builder.onResolve({ filter: /^msgpackr-extract$/ }, ({ path: name }) => ({ path: name, namespace: 'left-out' }));
    builder.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({
      contents: "throw new Error('msgpackr-extract is left out of the bundle');",
      loader: 'js',
    }));
  },
};

/** Imports run when they are reached, `import()` too: what a start does not need is parsed and run on first use. */
await build({
  absWorkingDir: ROOT,
  entryPoints: ['src/cli/main.ts'],
  outfile: 'dist/heddle.cjs',
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: false,
  legalComments: 'none',
  sourcemap: 'external',
  external: KEPT_OUTSIDE,
  define: { HEDDLE_VERSION: JSON.stringify(version), 'import.meta.url': 'bundleUrl' },
  // For libraries that ask where their module lies, which CommonJS does not tell.
  banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
  plugins: [lmdbInPlace, withoutExtractor],
  logLevel: 'warning',
});
