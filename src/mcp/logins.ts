// Logging in to MCP servers (OAuth): by a browser of the user once, by refreshing from then on, for all connections alike.

import { randomBytes } from 'node:crypto';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { Clock } from '../base/clock.ts';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError, isAppError, messageOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { newId } from '../model/ids.ts';
import { inTime } from './in-time.ts';
import { openLoginCallback } from './login-callback.ts';
import type { CredentialStore, Credentials } from './login-store.ts';

/** What is logged in to: another address is another server. */
export interface LoginPlace {
  readonly name: string;
  readonly url: string;
}

export interface LoginOptions {
  readonly scope: string | undefined;
  readonly timeoutMs: number;
  /** `cimd`: by the document alone; `dcr`: by a registration alone. */
  readonly registration: 'auto' | 'cimd' | 'dcr';
}

export interface LoginsParts {
  readonly store: CredentialStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Milliseconds before its end from which on a token is renewed. */
const EARLY_MS = 30_000;
/** How long servers may take to say how one logs in, or to give tokens, in milliseconds. */
const ANSWER_MS = 30_000;

const keyOf = ({ name, url }: LoginPlace): string => `${name} ${url}`;

export class Logins implements Closable {
  readonly #parts: LoginsParts;
  readonly #life = new AbortController();
  /** One at a time for each server, however many need it. */
  readonly #renewals = new Map<string, Promise<string | undefined>>();

  constructor(parts: LoginsParts) {
    this.#parts = parts;
  }

  /** Something is stored for it; it may have lost its worth. */
  async isLoggedIn(place: LoginPlace): Promise<boolean> {
    return (await this.#stored(place)) !== undefined;
  }

  /** A token for the next request; undefined: nobody has logged in. */
  async token(place: LoginPlace): Promise<string | undefined> {
    const known = await this.#stored(place);
    if (!known) return undefined;
    const { expiresAtMs, tokens } = known;
    const isLate = expiresAtMs !== null && this.#parts.clock.now() > expiresAtMs - EARLY_MS;
    return isLate && tokens.refresh_token ? this.renewed(place, tokens.access_token) : tokens.access_token;
  }

  /** Another token than the one that was refused; undefined: there is none to be had without a new log-in. */
  async renewed(place: LoginPlace, refused: string): Promise<string | undefined> {
    const key = keyOf(place);
    const known = await this.#stored(place);
    // Somebody else has renewed it meanwhile.
    if (known && known.tokens.access_token !== refused) return known.tokens.access_token;
    if (!known?.tokens.refresh_token) return undefined;
    const running = this.#renewals.get(key) ?? this.#renew(place, known);
    this.#renewals.set(key, running);
    return running.finally(() => this.#renewals.delete(key));
  }

  /**
   * Begins a log-in; `ended` is told once, when it is over. Rejects as *unavailable* when the server does not say how one logs in,
   * or what it gives could not be kept.
   */
  async begin(
    place: LoginPlace & { readonly clientDocument: string | null },
    options: LoginOptions,
    ended: (loginId: string, error: string | undefined) => void,
  ): Promise<{ readonly authorizationUrl: string; readonly loginId: string }> {
    const { registration } = options;
    const document = registration === 'dcr' ? null : place.clientDocument;
    if (registration === 'cimd' && document === null)
      throw new AppError('invalid', `mcp_servers.${place.name}.oauth_client_metadata_url names no document of ours`);
    // Before anybody is sent to a browser.
    await this.#parts.store.get(keyOf(place));
    const loginId = newId();
    const state = randomBytes(24).toString('base64url');
    const callback = await openLoginCallback(state);
    const flow = new Flow(callback.url, state, options.scope, undefined, document);
    try {
      const { auth } = await import('./library.ts');
      const request = { serverUrl: place.url, ...(options.scope === undefined ? {} : { scope: options.scope }) };
      await this.#inTime(auth(flow.provider, request), ANSWER_MS);
      const { authorizationUrl } = flow;
      if (!authorizationUrl) throw new AppError('unavailable', 'it does not say where to log in');
      if (registration === 'cimd' && flow.client?.client_id !== document)
        throw new AppError(
          'unavailable',
          'it takes no document about a client (client_id_metadata_document_supported)',
        );
      const finish = async () => {
        const code = await this.#inTime(callback.code, options.timeoutMs);
        await this.#inTime(auth(flow.provider, { ...request, authorizationCode: code }), ANSWER_MS);
        await this.#parts.store.set(keyOf(place), credentialsOf(flow, this.#parts.clock.now()));
      };
      void finish()
        .then(
          () => ended(loginId, undefined),
          (error: unknown) => ended(loginId, messageOf(error).slice(0, 1_000)),
        )
        .finally(() => callback.close());
      return { authorizationUrl: authorizationUrl.href, loginId };
    } catch (error) {
      await callback.close();
      throw new AppError('unavailable', `cannot log in to the MCP server ${place.name}: ${messageOf(error)}`);
    }
  }

  readonly close = closeOnce(async () => {
    this.#life.abort(new AppError('unavailable', 'the server stops'));
    await Promise.allSettled(this.#renewals.values());
  });

  /** Where it cannot be read it is as if nobody had logged in: servers that do not ask who we are need nothing of it. */
  async #stored(place: LoginPlace): Promise<Credentials | undefined> {
    try {
      return await this.#parts.store.get(keyOf(place));
    } catch (error) {
      if (!isAppError(error, 'unavailable')) throw error;
      this.#parts.log.warn({ err: error, server: place.name }, 'a log-in at an MCP server cannot be read');
      return undefined;
    }
  }

  async #renew(place: LoginPlace, known: Credentials): Promise<string | undefined> {
    const flow = new Flow('http://127.0.0.1/callback', '', undefined, known);
    const { auth } = await import('./library.ts');
    try {
      await this.#inTime(auth(flow.provider, { serverUrl: place.url }), ANSWER_MS);
    } catch {
      return undefined; // it is as if nobody had logged in, until somebody does
    }
    if (flow.authorizationUrl !== undefined || flow.tokens === known.tokens) return undefined;
    await this.#parts.store.set(keyOf(place), credentialsOf(flow, this.#parts.clock.now()));
    return flow.tokens?.access_token;
  }

  #inTime<T>(work: Promise<T>, ms: number): Promise<T> {
    return inTime(work, ms, this.#parts.clock, this.#life.signal);
  }
}

/** What the library keeps while it works; nothing of it is stored before it has ended well. */
class Flow {
  client: OAuthClientInformationMixed | undefined;
  tokens: OAuthTokens | undefined;
  authorizationUrl: URL | undefined;
  readonly provider: OAuthClientProvider;
  #verifier = '';

  constructor(
    redirectUrl: string,
    state: string,
    scope: string | undefined,
    known?: Credentials,
    document: string | null = null,
  ) {
    this.client = known?.client;
    this.tokens = known?.tokens;
    this.provider = {
      redirectUrl,
      ...(document === null ? {} : { clientMetadataUrl: document }),
      clientMetadata: {
        client_name: 'heddle',
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        ...(scope === undefined ? {} : { scope }),
      },
      state: () => state,
      clientInformation: () => this.client,
      saveClientInformation: (client) => {
        this.client = client;
      },
      tokens: () => this.tokens,
      saveTokens: (tokens) => {
        // A server that gives no new one goes on with the old.
        const refresh = tokens.refresh_token ?? this.tokens?.refresh_token;
        this.tokens = refresh === undefined ? tokens : { ...tokens, refresh_token: refresh };
      },
      redirectToAuthorization: (url) => {
        this.authorizationUrl = url;
      },
      saveCodeVerifier: (verifier) => {
        this.#verifier = verifier;
      },
      codeVerifier: () => this.#verifier,
    };
  }
}

function credentialsOf({ client, tokens }: Flow, nowMs: number): Credentials {
  if (!client || !tokens) throw new AppError('unavailable', 'the server gave no token');
  const { expires_in: seconds } = tokens;
  return { client, tokens, expiresAtMs: seconds === undefined ? null : nowMs + seconds * 1000 };
}
