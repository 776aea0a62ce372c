// Loads the server's code with its compiled form; where that is missing or was made by another V8, the code alone.
const { existsSync, readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { Script } = require('node:vm');

const filename = `${__dirname}/SERVER_NAME.cjs`;
const cache = `${__dirname}/SERVER_NAME.cache`;
const cachedData = existsSync(cache) ? readFileSync(cache) : undefined;
// The build has seen to it that it is ASCII, and has put it into the function of a module: a megabyte neither decoded nor copied.
const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData });
const loaded = { exports: {} };
script.runInThisContext()(loaded.exports, createRequire(filename), loaded, filename, __dirname);
module.exports = loaded.exports;
