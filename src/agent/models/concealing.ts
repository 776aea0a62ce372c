// What a provider says about a failure, without what was sent to it in confidence: some repeat keys and headers in their errors.

import type { ProviderAccess } from './client.ts';

/** Shorter values are ordinary words more often than secrets. */
const SHORTEST_SECRET = 8;
/** Characters of a provider's words that are kept. */
const MAX_WORDS = 2000;

/** Replaces the provider's key and the configured header and query values in a text, and shortens it. */
export function concealing({ apiKey, headers, query }: ProviderAccess): (text: string) => string {
  const values = [apiKey ?? '', ...Object.values(headers), ...Object.values(query)];
  const secrets = values
    .flatMap((value) => [value, value.replace(/^\w+ /, '')])
    .filter((value) => value.length >= SHORTEST_SECRET)
    // A longer one may hold a shorter one.
    .sort((one, other) => other.length - one.length);
  return (text) => {
    const shown = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[concealed]'), text);
    return shown.length > MAX_WORDS ? `${shown.slice(0, MAX_WORDS)}…` : shown;
  };
}
