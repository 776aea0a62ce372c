// Writes V8's compiled form of the server's code, made after a start so that it holds every function that a start runs.
// `node code-cache.cjs CODE CACHE DATA_DIRECTORY`, with the messages of a client on standard input.
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');

const [code, cache, dataDir] = process.argv.slice(2);
const script = new vm.Script(fs.readFileSync(code, 'latin1'), { filename: code });
const loaded = { exports: {} };
script.runInThisContext()(loaded.exports, Module.createRequire(code), loaded, code, path.dirname(code));
loaded.exports.serve({ dataDir, backend: 'mock', listen: [], config: [], auth: {} }).then((exitCode) => {
  if (exitCode === 0) fs.writeFileSync(cache, script.createCachedData());
  process.exit(exitCode);
});
