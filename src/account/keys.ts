// Keys of model providers: from the environment, else kept in a file that only its owner reads.

import { statSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError, codeOf } from '../base/errors.ts';
import { Mailbox } from '../base/mailbox.ts';
import { schema } from '../model/schema.ts';
import { writeSecretFile } from './secret-file.ts';

/** The file holds `{"version": 1, "keys": {<provider id>: <key>}}`. */
const KeyFile = schema(() => z.looseObject({ version: z.literal(1), keys: z.record(z.string(), z.string()) }));

export interface KeyStore {
  /** The stored key of a provider. Rejects as *unavailable* when there is a file that cannot be read. */
  stored(providerId: string): Promise<string | undefined>;
  /** On disk, with mode 0600, when it resolves. */
  store(providerId: string, key: string): Promise<void>;
  /** Forgets one key, or all of them. */
  forget(providerId?: string): Promise<void>;
}

/** Changes are made one after another and appear whole or not at all. */
export function createKeyStore(dataDirectory: string): KeyStore {
  const file = join(dataDirectory, 'auth.json');
  const changes = new Mailbox();
  const change = (edit: (keys: Map<string, string>) => void) =>
    changes.run(async () => {
      const keys = new Map(Object.entries(await readKeys(file)));
      edit(keys);
      if (keys.size === 0) await rm(file, { force: true });
      else await writeSecretFile(file, { version: 1, keys: Object.fromEntries(keys) });
    });
  return {
    stored: async (providerId) => {
      const keys = await readKeys(file);
      return Object.hasOwn(keys, providerId) ? keys[providerId] : undefined;
    },
    store: (providerId, key) => change((keys) => keys.set(providerId, key)),
    forget: (providerId) => change((keys) => (providerId === undefined ? keys.clear() : keys.delete(providerId))),
  };
}

async function readKeys(file: string): Promise<Readonly<Record<string, string>>> {
  let text: string;
  try {
    // Asked in every turn, and most installations have no such file.
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return {};
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    throw new AppError('unavailable', `cannot read ${file}: ${codeOf(error) ?? 'unknown reason'}`);
  }
  // What stands in the file must not get into an error text.
  try {
    return KeyFile().parse(JSON.parse(text)).keys;
  } catch {
    throw new AppError(
      'unavailable',
      `${file} is not a file of keys written by this program; move it away or remove it`,
    );
  }
}

/** What the lookup of a key needs to know of a provider. */
export interface KeyOwner {
  readonly id: string;
  readonly envKey: string | undefined;
}

/** The key to reach a provider with: its environment variable, else what is stored; undefined where neither is. */
export async function apiKeyOf(
  provider: KeyOwner,
  environment: Readonly<Record<string, string | undefined>>,
  keys: KeyStore,
): Promise<string | undefined> {
  const fromEnvironment = provider.envKey === undefined ? undefined : environment[provider.envKey];
  return fromEnvironment?.trim() || keys.stored(provider.id);
}
