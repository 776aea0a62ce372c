// Serves the page beside this file and the client library to browsers of this machine: node examples/browser/serve.mjs [PORT]
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const FILES = {
  '/': { type: 'text/html; charset=utf-8', file: new URL('./index.html', import.meta.url) },
  '/heddle-client.js': { type: 'text/javascript', file: new URL(import.meta.resolve('heddle/client/browser')) },
};

const server = createServer(async ({ url }, response) => {
  const found = FILES[url];
  if (found) response.setHeader('content-type', found.type).end(await readFile(found.file));
  else response.writeHead(404).end();
});
server.listen(Number(process.argv[2] ?? 8080), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
