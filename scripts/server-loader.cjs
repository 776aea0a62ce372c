// Loads the server's code with its compiled form; where that is missing or was made by another V8, the code alone.
const { existsSync, readFileSync } = require('node:fs');
const { createRequire, wrap } = require('node:module');
const { Script } = require('node:vm');

const filename = `${__dirname}/SERVER_NAME.cjs`;
const cache = `${__dirname}/SERVER_NAME.cache`;
const cachedData = existsSync(cache) ? readFileSync(cache) : undefined;
const script = new Script(wrap(readFileSync(filename, 'utf8')), { filename, cachedData });
const loaded = { exports: {} };
script.runInThisContext()(loaded.exports, createRequire(filename), loaded, filename, __dirname);
module.exports = loaded.exports;
