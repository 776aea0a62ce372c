// An MCP server over HTTP that asks who one is, and the authorisation server that it trusts, on one address of loopback.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export class LoginServer {
  /** What counts now. */
  accessToken = '';
  refreshToken = '';
  expiresIn: number | undefined = 3_600;
  /** Whether the person who is asked says no. */
  refuses = false;
  /** Tokens that were given for another one. */
  refreshes = 0;
  registrations = 0;
  /** Clients may name a document instead of being registered. */
  takesDocuments = false;
  readonly #server: Server;
  #made = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<LoginServer> {
    const server = createServer();
    const login = new LoginServer(server);
    server.on('request', (request, response) => void login.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return login;
  }

  get base(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.base}/mcp`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.base);
    const body = await bodyOf(request);
    const json = (value: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return void json({ resource: this.url, authorization_servers: [this.base] });
    if (pathname.startsWith('/.well-known/oauth-authorization-server')) return void json(this.#metadata());
    if (pathname === '/register') {
      this.registrations += 1;
      return void json({ ...JSON.parse(body), client_id: `client-${this.registrations}` }, 201);
    }
    if (pathname === '/authorize') return this.#authorize(searchParams, response);
    if (pathname === '/token') return void this.#token(new URLSearchParams(body), json);
    if (pathname === '/mcp') return this.#mcp(request, body, response, json);
    response.writeHead(404).end();
  }

  #metadata(): object {
    return {
      issuer: this.base,
      authorization_endpoint: `${this.base}/authorize`,
      token_endpoint: `${this.base}/token`,
      registration_endpoint: `${this.base}/register`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      ...(this.takesDocuments ? { client_id_metadata_document_supported: true } : {}),
    };
  }

  #authorize(asked: URLSearchParams, response: ServerResponse): void {
    const to = new URL(asked.get('redirect_uri') ?? '');
    to.searchParams.set('state', asked.get('state') ?? '');
    if (this.refuses) to.searchParams.set('error', 'access_denied');
    else to.searchParams.set('code', `code-for-${asked.get('code_challenge')?.length}`);
    response.writeHead(302, { location: to.href }).end();
  }

  #token(asked: URLSearchParams, json: (value: object, status?: number) => unknown): void {
    const isRefresh = asked.get('grant_type') === 'refresh_token';
    const isGood = isRefresh ? asked.get('refresh_token') === this.refreshToken : asked.get('code_verifier') !== null;
    if (!isGood) return void json({ error: 'invalid_grant' }, 400);
    this.#made += 1;
    if (isRefresh) this.refreshes += 1;
    this.accessToken = `secret-access-${this.#made}`;
    this.refreshToken = `secret-refresh-${this.#made}`;
    const expiry = this.expiresIn === undefined ? {} : { expires_in: this.expiresIn };
    json({ access_token: this.accessToken, refresh_token: this.refreshToken, token_type: 'Bearer', ...expiry });
  }

  #mcp(request: IncomingMessage, body: string, response: ServerResponse, json: (value: object) => unknown): void {
    if (this.accessToken === '' || request.headers.authorization !== `Bearer ${this.accessToken}`) {
      const where = `Bearer resource_metadata="${this.base}/.well-known/oauth-protected-resource"`;
      return void response.writeHead(401, { 'www-authenticate': where }).end();
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method } = JSON.parse(body);
    if (id === undefined) return void response.writeHead(202).end();
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'far', version: '1' },
      },
      'tools/list': { tools: [{ name: 'far', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }] },
      'tools/call': { content: [{ type: 'text', text: 'from afar' }] },
    };
    json({ jsonrpc: '2.0', id, result: results[method] ?? {} });
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}
