// Where log-ins at MCP servers are kept: as it is configured, and, if that is left to us, where it is possible.

import { AppError, isAppError, messageOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { CredentialStore, Credentials } from './login-store.ts';

export type LoginPlaceChoice = 'auto' | 'file' | 'keyring';

export interface ChosenStoreParts {
  readonly file: CredentialStore;
  readonly keyring: CredentialStore;
  /** As it is configured now. */
  readonly choice: () => Promise<LoginPlaceChoice>;
  readonly log: Log;
}

export class ChosenStore implements CredentialStore {
  readonly #parts: ChosenStoreParts;
  /** Under `auto`: the keyring did not work. That stays so for this process, or it would go on with log-ins that are out of date. */
  #isWithout = false;

  constructor(parts: ChosenStoreParts) {
    this.#parts = parts;
  }

  /** Under `keyring` rejects as *unavailable* when there is none; the file is not looked at then. */
  async get(key: string): Promise<Credentials | undefined> {
    const { file, keyring } = this.#parts;
    switch (await this.#choice()) {
      case 'file':
        return file.get(key);
      case 'keyring':
        return keyring.get(key).catch(withoutKeyring);
      case 'auto':
        return (await this.#tried(() => keyring.get(key))) ?? file.get(key);
    }
  }

  /** As `get` rejects. Under `auto` it is in one of both: what is out of date does not stay in the other. */
  async set(key: string, credentials: Credentials | undefined): Promise<void> {
    const { file, keyring } = this.#parts;
    switch (await this.#choice()) {
      case 'file':
        return file.set(key, credentials);
      case 'keyring':
        return keyring.set(key, credentials).catch(withoutKeyring);
      case 'auto': {
        await this.#tried(() => keyring.set(key, credentials));
        if (this.#isWithout) {
          // What is there from before would be found first, one day.
          await keyring.set(key, undefined).catch(() => {});
          return file.set(key, credentials);
        }
        if (await file.get(key)) await file.set(key, undefined);
      }
    }
  }

  async #choice(): Promise<LoginPlaceChoice> {
    const choice = await this.#parts.choice();
    return choice === 'auto' && this.#isWithout ? 'file' : choice;
  }

  async #tried<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isAppError(error, 'unavailable')) throw error;
      if (!this.#isWithout) this.#parts.log.info({ err: error }, 'log-ins at MCP servers are kept in a file');
      this.#isWithout = true;
      return undefined;
    }
  }
}

function withoutKeyring(error: unknown): never {
  throw new AppError('unavailable', `${messageOf(error)}; mcp_oauth_credentials_store may be \`auto\` or \`file\``);
}
