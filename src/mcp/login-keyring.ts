// Log-ins at MCP servers in the keyring of the system: Secret Service, Keychain, or the credentials of Windows.

import { fingerprint } from '../base/canonical.ts';
import type { Clock } from '../base/clock.ts';
import { AppError, isAppError, messageOf } from '../base/errors.ts';
import { inTime } from './in-time.ts';
import { type CredentialStore, type Credentials, readCredentials } from './login-store.ts';

/** One secret of one account. Rejects when the keyring cannot be used. */
export interface KeyringEntry {
  getPassword(signal?: AbortSignal): Promise<string | null>;
  setPassword(secret: string, signal?: AbortSignal): Promise<void>;
  deletePassword(signal?: AbortSignal): Promise<boolean>;
}

export interface KeyringParts {
  /** Entries of other data directories are none of ours. */
  readonly dataDirectory: string;
  readonly clock: Clock;
  /** For tests; default: the system's. */
  readonly open?: (account: string) => Promise<KeyringEntry>;
}

const SERVICE = 'heddle MCP logins';
/** Some systems ask people first, who need not be there, in milliseconds. */
const ANSWER_MS = 20_000;

export class KeyringStore implements CredentialStore {
  readonly #parts: KeyringParts;
  /** The data directory belongs to one process: nobody else changes its entries. */
  readonly #known = new Map<string, Credentials | undefined>();

  constructor(parts: KeyringParts) {
    this.#parts = parts;
  }

  /** Rejects as *unavailable* when the keyring cannot be used. */
  async get(key: string): Promise<Credentials | undefined> {
    if (!this.#known.has(key)) {
      const text = await this.#use(key, (entry, signal) => entry.getPassword(signal));
      this.#known.set(key, text === null ? undefined : read(text));
    }
    return this.#known.get(key);
  }

  /** In the keyring when it resolves; rejects as *unavailable* when that cannot be used. */
  async set(key: string, credentials: Credentials | undefined): Promise<void> {
    await this.#use(key, async (entry, signal) => {
      if (credentials) await entry.setPassword(JSON.stringify(credentials), signal);
      else await entry.deletePassword(signal);
    });
    this.#known.set(key, credentials);
  }

  async #use<T>(key: string, work: (entry: KeyringEntry, signal: AbortSignal) => Promise<T>): Promise<T> {
    const { dataDirectory, clock, open = openSystemEntry } = this.#parts;
    const over = new AbortController();
    try {
      const account = `${fingerprint(dataDirectory).slice(0, 12)} ${key}`;
      const using = open(account).then((entry) => work(entry, over.signal));
      return await inTime(using, ANSWER_MS, clock, over.signal);
    } catch (error) {
      if (isAppError(error, 'invalid')) throw error;
      const why = messageOf(error).slice(0, 300);
      throw new AppError('unavailable', `the keyring of the system cannot be used (${why})`);
    } finally {
      over.abort();
    }
  }
}

/** Of no other kind on Linux: what the kernel keeps is gone with the next start of the machine. */
async function openSystemEntry(account: string): Promise<KeyringEntry> {
  const { AsyncEntry } = await import('@napi-rs/keyring');
  return new AsyncEntry(SERVICE, account, { linux: { store: 'secret-service' } });
}

function read(text: string): Credentials | undefined {
  try {
    return readCredentials(JSON.parse(text));
  } catch {
    return undefined; // somebody else has written there: it is as if nobody had logged in
  }
}
