// Which web pages and which names may reach a listener: Origin and Host, checked before anything else.

import { BlockList, isIP } from 'node:net';
import { AppError } from '../base/errors.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Decided from the parsed address: `127.evil.example` and `127.1` are not addresses. */
export function isLoopbackAddress(ip: string): boolean {
  const family = isIP(ip);
  return family !== 0 && loopback.check(ip, family === 4 ? 'ipv4' : 'ipv6');
}

/** The name in a Host header, lower case, without port, brackets and final dot; undefined if it is not one name. */
export function hostName(host: string): string | undefined {
  const parts = /^(?:\[([\da-f:.]+)\]|([^\s:/?#@[\]\\]+))(?::\d{1,5})?$/i.exec(host.trim());
  if (parts?.[1] !== undefined) return isIP(parts[1]) === 6 ? parts[1].toLowerCase() : undefined;
  return parts?.[2]?.toLowerCase().replace(/\.$/, '');
}

export function isLoopbackName(name: string): boolean {
  return name === 'localhost' || isLoopbackAddress(name);
}

/** An entry of the allow list in the form in which browsers send it. Throws as *invalid*. */
export function allowedOrigin(entry: string): string {
  const origin = entry.trim().toLowerCase().replace(/\/$/, '');
  if (!/^[a-z][a-z\d+.-]*:\/\/[^\s/*]+$/.test(origin))
    throw new AppError(
      'invalid',
      `invalid --allow-origin \`${entry}\`; expected a whole origin such as \`https://app.example\``,
    );
  return origin;
}

/** A public name given with `--behind-tls-proxy`. Throws as *invalid*. */
export function publicName(entry: string): string {
  const name = entry.includes('://') ? undefined : hostName(entry);
  if (name === undefined || name === '' || name.includes('*'))
    throw new AppError(
      'invalid',
      `invalid --behind-tls-proxy \`${entry}\`; expected the public host name such as \`heddle.example\``,
    );
  return name;
}

export interface HostRules {
  /** True on a loopback listener. */
  readonly acceptsLoopback: boolean;
  readonly publicNames: readonly string[];
}

/** Exactly one Host, and one that belongs to the listener. */
export function isOwnHost(hosts: readonly string[], rules: HostRules): boolean {
  const [host] = hosts;
  const name = host === undefined || hosts.length > 1 ? undefined : hostName(host);
  if (name === undefined) return false;
  return rules.publicNames.includes(name) || (rules.acceptsLoopback && isLoopbackName(name));
}

/** No Origin at all, or one that is allowed. `null`, which sandboxed pages send, is never allowed. */
export function isAllowedOrigin(origins: readonly string[], allowed: ReadonlySet<string>): boolean {
  return origins.every((origin) => allowed.has(origin.trim().toLowerCase())) && origins.length <= 1;
}
