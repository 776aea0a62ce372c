// The names of hosts that a permission profile lists, as the proxy compares them.

import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

const NAME = /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** In lower case and ASCII, without a dot at the end; undefined when it is no host, and no `*`, `*.host` or `**.host`. */
export function hostPattern(given: string): string | undefined {
  if (given === '*') return given;
  const [, prefix = '', rest = ''] = /^(\*\*?\.)?(.*)$/s.exec(given) ?? [];
  const bare = rest.replace(/^\[(.*)\]$/s, '$1').toLowerCase();
  if (isIP(bare) !== 0) return prefix === '' ? bare : undefined;
  const host = domainToASCII(rest.replace(/\.$/, ''));
  return host !== '' && host.length <= 253 && NAME.test(host) && isIP(host) === 0 ? `${prefix}${host}` : undefined;
}
