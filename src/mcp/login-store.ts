// Who we are for MCP servers that have us log in: registrations and tokens, in a file that only its owner reads.

import { readFile } from 'node:fs/promises';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { z } from 'zod';
import { writeSecretFile } from '../account/secret-file.ts';
import { AppError, codeOf } from '../base/errors.ts';
import { Mailbox } from '../base/mailbox.ts';
import { schema } from '../model/schema.ts';

/** What one server has given us, as it came. */
export interface Credentials {
  readonly client: OAuthClientInformationMixed;
  readonly tokens: OAuthTokens;
  /** Epoch ms from which on the access token no longer counts; null: it does not say. */
  readonly expiresAtMs: number | null;
}

export interface CredentialStore {
  get(key: string): Promise<Credentials | undefined>;
  /** Kept when it resolves; undefined forgets them. */
  set(key: string, credentials: Credentials | undefined): Promise<void>;
}

const StoredCredentials = schema(() =>
  z.looseObject({
    client: z.looseObject({ client_id: z.string() }),
    tokens: z.looseObject({ access_token: z.string() }),
    expiresAtMs: z.number().nullable(),
  }),
);

const StoredFile = schema(() =>
  z.looseObject({ version: z.literal(1), servers: z.record(z.string(), StoredCredentials()) }),
);

/** Throws for what was not written by us. */
export const readCredentials = (stored: unknown): Credentials =>
  StoredCredentials().parse(stored) as unknown as Credentials;

export class LoginStore implements CredentialStore {
  readonly #file: string;
  readonly #changes = new Mailbox();
  #known: Promise<Map<string, Credentials>> | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** Rejects as *unavailable* when there is a file that cannot be read. */
  async get(key: string): Promise<Credentials | undefined> {
    return (await this.#all()).get(key);
  }

  /** On disk when it resolves; undefined forgets them. */
  set(key: string, credentials: Credentials | undefined): Promise<void> {
    return this.#changes.run(async () => {
      const all = new Map(await this.#all());
      if (credentials) all.set(key, credentials);
      else all.delete(key);
      await writeSecretFile(this.#file, { version: 1, servers: Object.fromEntries(all) });
      this.#known = Promise.resolve(all);
    });
  }

  /** The data directory belongs to one process: nobody else changes the file. */
  #all(): Promise<Map<string, Credentials>> {
    this.#known ??= read(this.#file).catch((error: unknown) => {
      this.#known = undefined;
      throw error;
    });
    return this.#known;
  }
}

async function read(file: string): Promise<Map<string, Credentials>> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return new Map();
    throw new AppError('unavailable', `cannot read ${file}: ${codeOf(error) ?? 'unknown reason'}`);
  }
  // What stands in the file must not get into an error text.
  try {
    const { servers } = StoredFile().parse(JSON.parse(text));
    return new Map(Object.entries(servers) as unknown as [string, Credentials][]);
  } catch {
    throw new AppError('unavailable', `${file} is not a file of log-ins written by this program; move it away`);
  }
}
