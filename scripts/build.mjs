// Builds the executable: one CommonJS file, because loading hundreds of files is most of what a start costs.
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import Module from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));

/** They load native code or WebAssembly that lies beside them, so they stay where they are. */
const KEPT_OUTSIDE = [
  'web-tree-sitter',
  'tree-sitter-bash',
  '@lydell/node-pty',
  '@napi-rs/keyring',
  '@parcel/watcher',
  'koffi',
];

/** The file of lmdb's own CommonJS build; bundled from its ES modules it reads keys wrongly. */
const LMDB = path.join(ROOT, 'node_modules/lmdb/dist/index.cjs');

/** The usual place of the native part is tried before all possible ones are searched. */
const LMDB_PLACE = `
  var outside = require('node:module').createRequire(__filename);
  function nativeLmdb(load) {
    const search = () => load(require('node:path').dirname(outside.resolve('lmdb')).replace(/dist$/, ''));
    if (process.platform !== 'linux') return search();
    try {
      return outside('@lmdb/lmdb-linux-' + process.arch + '/node.abi' + process.versions.modules + '.glibc.node');
    } catch {
      return search();
    }
  }
`;

/**
 * lmdb keeps its writes in a list in which done ones still point to the next. One of them that has got old makes the collector of
 * young objects keep all that come after it, so that what belonged to a commit would stay until the next full collection.
 */
const LMDB_LIST = [
  [
    '(uncommittedResolution = uncommittedResolution.next)',
    '(uncommittedResolution = takenOut(uncommittedResolution, "next"))',
  ],
  ['txnResolution = txnResolution.nextTxn;', 'txnResolution = takenOut(txnResolution, "nextTxn");'],
];
const LMDB_TAKEN_OUT = `
  function takenOut(done, link) {
    const next = done[link];
    // This bit of its flag says that the other reader of the list has passed it.
    if (link !== "next" || done.flag & 0x1000000) done[link] = null;
    return next;
  }
`;

/** Throws when lmdb has come to be written in another way. */
function changed(source, from, to) {
  if (!source.includes(from)) throw new Error(`lmdb does not have ${from} any more; adapt the build`);
  return source.replaceAll(from, to);
}

/**
 * lmdb finds its native part from the place of its own file, which in the bundle is another one. It would find its dictionary for
 * compression and another encoding from there, too; we use neither.
 */
const lmdbInPlace = {
  name: 'lmdb-in-place',
  setup(builder) {
    builder.onResolve({ filter: /^lmdb$/ }, () => ({ path: LMDB }));
    builder.onLoad({ filter: /[\\/]lmdb[\\/]dist[\\/]index\.cjs$/ }, async ({ path: file }) => {
      const source = await fs.promises.readFile(file, 'utf8');
      const placed = changed(
        source,
        'loadNAPI__default["default"](dirName)',
        'nativeLmdb(loadNAPI__default["default"])',
      );
      const unchained = LMDB_LIST.reduce((text, [from, to]) => changed(text, from, to), placed);
      return { contents: LMDB_PLACE + LMDB_TAKEN_OUT + unchained, loader: 'js' };
    });
  },
};

/** Its own search for its native part reads a dozen files; the part lies in one place. */
const locksInPlace = {
  name: 'fs-native-extensions-in-place',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]fs-native-extensions[\\/]binding\.js$/ }, () => ({
      contents: `
        const { dirname, join } = require('node:path');
        const outside = require('node:module').createRequire(__filename);
        const home = dirname(outside.resolve('fs-native-extensions'));
        const prebuilt = 'prebuilds/' + process.platform + '-' + process.arch + '/fs-native-extensions.node';
        try {
          module.exports = outside(join(home, prebuilt));
        } catch {
          module.exports = outside(join(home, 'binding.js'));
        }`,
      loader: 'js',
    }));
  },
};

/** The namespace itself instead of an export that holds it: only then is what nobody uses of zod left out. */
const zodByParts = {
  name: 'zod-by-parts',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path: file }) => {
      const source = await fs.promises.readFile(file, 'utf8');
      return { contents: source.replace("import { z } from 'zod'", "import * as z from 'zod'"), loader: 'ts' };
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

/** Messages of errors in forty languages that we never switch to. */
const englishOnly = {
  name: 'english-only',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};

/** Parts of Node that a start does not need, or not always: each is loaded when something of it is first used. */
const NODE_LATER = [
  'assert',
  'diagnostics_channel',
  'http',
  'https',
  'readline',
  'timers/promises',
  'v8',
  'worker_threads',
];

const nodeLater = {
  name: 'node-later',
  setup(builder) {
    const filter = new RegExp(`^(node:)?(${NODE_LATER.join('|')})$`);
    builder.onResolve({ filter }, ({ path: name, namespace }) =>
      namespace === 'node-later' ? { path: name, external: true } : { path: name, namespace: 'node-later' },
    );
    builder.onLoad({ filter: /.*/, namespace: 'node-later' }, async ({ path: name }) => {
      const members = Object.keys(await import(name)).filter((member) => member !== 'default');
      return {
        contents: `for (const member of ${JSON.stringify(members)})
          Object.defineProperty(exports, member, { enumerable: true, get: () => require('${name}')[member] });`,
        loader: 'js',
      };
    });
  },
};

/** Libraries that a start does not need lie in files of their own, so that it has not to read them either. */
const LIBRARIES = {
  jose: 'jose',
  ws: 'ws',
  yargs: 'yargs',
  'ai-openai-compatible': '@ai-sdk/openai-compatible',
  'ai-anthropic': '@ai-sdk/anthropic',
};

/** What we use of a library of many files, gathered in a module of our own that is imported when it is needed. */
const GATHERED = { mcp: './src/mcp/library.ts' };

/** Parts of our own that are never needed together; `./NAME.ts` in a dynamic import becomes `./FILE.cjs`. */
const PARTS = { serve: 'server', commands: 'commands', shared: 'shared' };

const partsApart = {
  name: 'parts-apart',
  setup(builder) {
    builder.onResolve({ filter: /^\.\/(serve|commands|shared)\.ts$/ }, ({ kind, path: name }) =>
      kind === 'dynamic-import' ? { path: `./${PARTS[path.basename(name, '.ts')]}.cjs`, external: true } : undefined,
    );
  },
};

const librariesApart = {
  name: 'libraries-apart',
  setup(builder) {
    for (const [file, name] of Object.entries(LIBRARIES))
      builder.onResolve({ filter: new RegExp(`^${name}$`) }, ({ kind }) =>
        kind === 'require-call' ? undefined : { path: `./${file}.cjs`, external: true },
      );
    for (const [file, place] of Object.entries(GATHERED)) {
      const whole = path.join(ROOT, place);
      builder.onResolve({ filter: /^\.\/library\.ts$/ }, ({ kind, path: name, resolveDir }) =>
        kind === 'dynamic-import' && path.join(resolveDir, name) === whole
          ? { path: `./${file}.cjs`, external: true }
          : undefined,
      );
    }
  },
};

/** The file of a library; yargs has a default export only, which an import finds as the whole of a CommonJS file. */
const libraryEntries = {
  name: 'library-entries',
  setup(builder) {
    builder.onResolve({ filter: /^library:/ }, ({ path: name }) => ({ path: name, namespace: 'library' }));
    builder.onLoad({ filter: /.*/, namespace: 'library' }, ({ path: entry }) => {
      const name = entry.slice('library:'.length);
      const contents = name === 'yargs' ? "module.exports = require('yargs').default;" : `export * from '${name}';`;
      return { contents, resolveDir: ROOT };
    });
  },
};

const shared = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  // Names stay: they are what a stack trace is read by.
  minifySyntax: true,
  minifyWhitespace: true,
  // `import()` becomes `require` behind a promise: the loader of ES modules takes its time to start.
  supported: { 'dynamic-import': false },
  legalComments: 'none',
  define: { HEDDLE_VERSION: JSON.stringify(version), 'import.meta.url': 'bundleUrl' },
  // For modules that ask where they lie, which CommonJS does not tell in that form.
  banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
  logLevel: 'warning',
};

/** The client library, for browsers and for Node; both share what is the same. */
const library = {
  absWorkingDir: ROOT,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'es2023',
  entryPoints: { index: 'src/client/web.ts', node: 'src/client/local.ts' },
  outdir: 'dist/client',
  packages: 'external',
  sourcemap: 'linked',
  logLevel: 'warning',
};

/** In one file, for pages that are not bundled themselves. */
const libraryForPages = {
  absWorkingDir: ROOT,
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2023',
  minify: true,
  entryPoints: { browser: 'src/client/web.ts' },
  outdir: 'dist/client',
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [englishOnly, zodByParts],
};

function declareTypes() {
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', path.join(ROOT, 'tsconfig.build.json')], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the types of the client library could not be written:\n${stdout}`);
}

for (const folder of ['client', 'types']) fs.rmSync(path.join(ROOT, 'dist', folder), { recursive: true, force: true });
declareTypes();
await Promise.all([
  build(library),
  build(libraryForPages),
  // A thread of its own is loaded from a file of its own.
  build({
    ...shared,
    entryPoints: { 'search-worker': 'src/fs/search-worker.ts' },
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
  }),
  build({
    ...shared,
    entryPoints: {
      heddle: 'src/cli/main.ts',
      'heddle-codex': 'src/cli/codex-main.ts',
      ...Object.fromEntries(Object.entries(PARTS).map(([name, file]) => [file, `src/cli/${name}.ts`])),
    },
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    sourcemap: 'linked',
    external: KEPT_OUTSIDE,
    plugins: [
      nodeLater,
      partsApart,
      librariesApart,
      lmdbInPlace,
      locksInPlace,
      withoutExtractor,
      englishOnly,
      zodByParts,
    ],
  }),
  build({
    ...shared,
    entryPoints: {
      ...Object.fromEntries(Object.entries(LIBRARIES).map(([file, name]) => [file, `library:${name}`])),
      ...GATHERED,
    },
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    plugins: [libraryEntries, englishOnly],
  }),
]);

/** Code and its compiled form bear the digest of the code in their names: V8 itself would take any code of the same length. */
function cacheServer() {
  const dist = path.join(ROOT, 'dist');
  const source = Module.wrap(fs.readFileSync(path.join(dist, 'server.cjs'), 'utf8'));
  // The loader takes each byte for a character.
  if (Buffer.byteLength(source) !== source.length) throw new Error('the code of the server is not ASCII');
  const name = `server-${crypto.createHash('sha256').update(source).digest('hex').slice(0, 16)}`;
  const code = path.join(dist, `${name}.cjs`);
  fs.writeFileSync(code, source);
  const data = fs.mkdtempSync(path.join(os.tmpdir(), 'heddle-build-'));
  fs.writeFileSync(path.join(data, 'config.yaml'), SETTINGS);
  const { status, stderr } = spawnSync(
    process.execPath,
    [path.join(ROOT, 'scripts/code-cache.cjs'), code, path.join(dist, `${name}.cache`), data],
    { input: START, encoding: 'utf8', env: { PATH: process.env.PATH, HOME: data } },
  );
  fs.rmSync(data, { recursive: true, force: true });
  if (status !== 0) console.warn(`no code cache, starts will take longer: ${stderr}`);
  else {
    const cachedData = fs.readFileSync(path.join(dist, `${name}.cache`));
    const { cachedDataRejected } = new Script(source, { filename: code, cachedData });
    if (cachedDataRejected) throw new Error('the code cache is rejected: a flag of V8 is other than at a start');
  }
  const loader = fs.readFileSync(path.join(ROOT, 'scripts/server-loader.cjs'), 'utf8');
  fs.writeFileSync(path.join(dist, 'server.cjs'), loader.replaceAll('SERVER_NAME', name));
  for (const each of fs.readdirSync(dist))
    if (/^server-[\da-f]+\./.test(each) && !each.startsWith(name)) fs.rmSync(path.join(dist, each));
}

/** Of each form that is usual in such a file: what reads it is compiled, too. */
const SETTINGS = `# The build's own.
model: none
model_provider: none
model_providers:
  none:
    name: "None"
    base_url: http://127.0.0.1:1/v1
    wire_api: responses
remote:
  roots: []
`;

/** What clients say first. */
const START = `${JSON.stringify({
  id: 1,
  method: 'initialize',
  params: { clientInfo: { name: 'build', version }, capabilities: { experimentalApi: true } },
})}\n${JSON.stringify({ method: 'initialized' })}\n`;

cacheServer();
