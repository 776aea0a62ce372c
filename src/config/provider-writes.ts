// Writing what clients may change of model providers: name, address and key variable of an entry, and which one is the default.

import type { Principal } from '../auth/principal.ts';
import type { JsonValue } from '../base/canonical.ts';
import { writeError } from './edits.ts';
import { isInForce } from './layers.ts';
import type { ConfigSource, ConfigState } from './load.ts';
import { hasProvider, providerIds } from './providers.ts';
import type { Config } from './schema.ts';
import { type Written, writeSettings } from './writes.ts';

/** Absent: as it is; null: none. */
export interface ProviderPatch {
  /** Absent or null: a new one. */
  readonly providerId?: string | null | undefined;
  readonly name?: string | undefined;
  readonly baseUrl?: string | null | undefined;
  readonly envKey?: string | null | undefined;
}

/** The id of the entry, which is on disk when this resolves. Rejects as *invalid*, or as *forbidden* without `admin`. */
export async function writeProvider(source: ConfigSource, principal: Principal, patch: ProviderPatch): Promise<string> {
  const { config } = await source.state();
  const id = patch.providerId ?? newId(patch.name, config);
  if (patch.providerId && !hasProvider(config, id))
    throw writeError('configPathNotFound', `there is no provider ${id}`);
  if (!patch.providerId && !patch.baseUrl) throw writeError('configValidationError', 'a new provider needs a baseUrl');
  if (patch.baseUrl) checkAddress(patch.baseUrl);
  const changes: [string, string | null | undefined][] = [
    ['name', patch.name],
    ['base_url', patch.baseUrl],
    ['env_key', patch.envKey],
  ];
  const edits = changes.flatMap(([key, value]) => (value === undefined ? [] : [editOf(id, key, value)]));
  await writeSettings(source, { principal, edits });
  return id;
}

/** Rejects as *invalid* when there is no such provider, as *forbidden* without `admin`. */
export async function setDefaultProvider(source: ConfigSource, principal: Principal, id: string): Promise<Written> {
  const { config } = await source.state();
  if (!hasProvider(config, id)) throw writeError('configValidationError', `the provider ${id} is not configured`);
  const edit = { keyPath: 'model_provider', value: id, mergeStrategy: 'replace' as const };
  return writeSettings(source, { principal, edits: [edit] });
}

/** Whether a default that this client writes would count. */
export function canChangeDefault({ layers }: ConfigState, principal: Principal): boolean {
  const isSetAbove = layers.some(
    (layer) => layer.name.type !== 'user' && isInForce(layer) && Object.hasOwn(layer.settings, 'model_provider'),
  );
  return !isSetAbove && principal.permissions.has('admin');
}

const editOf = (id: string, key: string, value: JsonValue) => ({
  keyPath: `model_providers.${JSON.stringify(id)}.${key}`,
  value,
  mergeStrategy: 'replace' as const,
});

function checkAddress(baseUrl: string): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  if (isPlain) return;
  throw writeError(
    'configValidationError',
    'baseUrl must be an http or https address without name, password, query or fragment',
  );
}

/** A word made of the name that no other provider has. */
function newId(name: string | undefined, config: Config): string {
  const word =
    name
      ?.toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 64) || 'custom';
  const taken = new Set(providerIds(config));
  let id = word;
  for (let count = 2; taken.has(id); count += 1) id = `${word}-${count}`;
  return id;
}
