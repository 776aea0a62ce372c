// Serves the page beside this file and the client library to browsers of this machine: node examples/browser/serve.mjs [PORT]
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const [, , port = '8080'] = process.argv;
const fail = (message, code = 1) => {
  console.error(message);
  process.exit(code);
};
if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) fail('usage: node serve.mjs [PORT]', 2);

const read = (url) => readFile(url).catch(({ message }) => fail(`${message}; has \`npm run build\` been run?`));
const FILES = {
  '/': { type: 'text/html; charset=utf-8', content: await read(new URL('./index.html', import.meta.url)) },
  '/heddle-client.js': {
    type: 'text/javascript',
    content: await read(new URL(import.meta.resolve('heddle/client/browser'))),
  },
};

const server = createServer(({ url }, response) => {
  const found = FILES[url];
  if (found) response.setHeader('content-type', found.type).end(found.content);
  else response.writeHead(404).end();
});
server.on('error', ({ message }) => fail(message));
server.listen(Number(port), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
