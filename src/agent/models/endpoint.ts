// Address and headers of a provider's requests.

import { AppError } from '../../base/errors.ts';
import type { ProviderAccess } from './client.ts';

/** `path` below the provider's base URL, with the configured query. Throws *invalid* if that is no http(s) URL. */
export function endpoint(access: ProviderAccess, path: string): string {
  const base = access.baseUrl.replace(/\/+$/, '');
  if (!URL.canParse(base) || !/^https?:/i.test(base))
    throw new AppError('invalid', `the base URL of model provider ${access.id} is no http or https URL`);
  const url = new URL(`${base}/${path}`);
  for (const [name, value] of Object.entries(access.query)) url.searchParams.set(name, value);
  return url.href;
}

/** The address as errors may show it: query strings of some providers hold a key. */
export function withoutQuery(url: string): string {
  const parsed = new URL(url);
  return `${parsed.origin}${parsed.pathname}`;
}

/** The configured headers win over `authorization`. */
export function requestHeaders(
  access: ProviderAccess,
  authorization: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    accept: 'text/event-stream',
    'content-type': 'application/json',
    'user-agent': 'heddle',
    ...authorization,
    ...lowerCased(access.headers),
  };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
