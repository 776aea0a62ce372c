// An MCP server over HTTP that can be switched off and on: with a session to know its clients by, and answers as streams of events.

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { freePort } from './ports.ts';

const TOOL = { name: 'work', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
const TOOLS = [TOOL, { ...TOOL, name: 'hang' }];

export class HttpMcpServer {
  /** Status of the answer to a session that it does not know. */
  strangerStatus = 404;
  sessions = 0;
  #server: Server | undefined;
  #known = '';
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  /** On the same port as before. */
  async on(): Promise<void> {
    this.#port ||= await freePort();
    const server = createServer((request, response) => void this.#serve(request, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
  }

  async off(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#known = '';
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A connection that was closed with the server would be used once more, now and then.
    response.setHeader('connection', 'close');
    if (request.method !== 'POST') return void response.writeHead(405).end();
    let body = '';
    for await (const chunk of request) body += chunk;
    const { id, method, params } = JSON.parse(body);
    if (method === 'initialize') this.#known = randomUUID();
    else if (request.headers['mcp-session-id'] !== this.#known)
      return void response.writeHead(this.strangerStatus).end('No valid session ID provided');
    if (method === 'initialize') this.sessions += 1;
    if (id === undefined) return void response.writeHead(202).end();
    const say = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': this.#known });
    if (method === 'tools/call' && params.name === 'hang') {
      const progress = { progressToken: params._meta.progressToken, progress: 1, message: 'under way' };
      return void response.write(say({ method: 'notifications/progress', params: progress }));
    }
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {}, resources: {} },
        serverInfo: { name: 'far', version: '1' },
      },
      'tools/list': { tools: TOOLS },
      'tools/call': { content: [{ type: 'text', text: 'worked' }] },
      'resources/read': { contents: [{ uri: params?.uri, text: 'read' }] },
    };
    response.end(say({ id, result: results[method] ?? {} }));
  }
}
