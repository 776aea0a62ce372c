// Pure: which hosts rules let commands reach, and which addresses are nobody's but ours.

import { BlockList, isIP, SocketAddress } from 'node:net';
import { once } from '../base/lazy.ts';
import type { NetworkRules } from '../model/policy.ts';

/** Undefined: it may be reached. */
export type Barred = 'denied' | 'notListed' | 'private';

/** As it is compared: without brackets and the dot at the end, in lower case; an address in its shortest form. */
export function plainHost(host: string): string {
  const plain = host
    .replace(/^\[(.*)\]$/s, '$1')
    .replace(/\.$/, '')
    .toLowerCase();
  if (isIP(plain) !== 6 || plain.includes('%')) return plain;
  const { address } = new SocketAddress({ address: plain, family: 'ipv6' });
  // An address of the older kind in the clothes of the newer.
  return /^::ffff:([\d.]+)$/.exec(address)?.[1] ?? address;
}

/** What the name alone says. */
export function barredName({ allow, deny }: NetworkRules, host: string): Barred | undefined {
  if (deny.some((pattern) => matches(pattern, host))) return 'denied';
  return allow.some((pattern) => matches(pattern, host)) ? undefined : 'notListed';
}

/** What the address says to which the name leads; a name that is listed does not open what lies behind it here. */
export function barredAddress(rules: NetworkRules, host: string, found: string): Barred | undefined {
  const address = plainHost(found);
  if (rules.deny.some((pattern) => matches(pattern, address))) return 'denied';
  if (!isPrivate(address) || rules.allowsLocal) return undefined;
  if (!rules.allow.some((pattern) => pattern !== '*' && plainHost(pattern) === host)) return 'private';
  const isItself = host === address || (host === 'localhost' && isLoopback(address));
  return isItself ? undefined : 'private';
}

function matches(pattern: string, host: string): boolean {
  if (pattern === '*') return true;
  if (pattern.startsWith('**.')) return host === pattern.slice(3) || host.endsWith(pattern.slice(2));
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === plainHost(pattern);
}

/** Not of the public internet: this machine, private networks, addresses for special uses, or of one link. */
export function isPrivate(address: string): boolean {
  const kind = isIP(address);
  return kind === 0 || address.includes('%') || special().check(address, kind === 6 ? 'ipv6' : 'ipv4');
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

const V4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4';
/** Those that carry an address of the older kind inside are among them. */
const V6 =
  '::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8';

const special = once(() => {
  const list = new BlockList();
  for (const [networks, kind] of [
    [V4, 'ipv4'],
    [V6, 'ipv6'],
  ] as const)
    for (const network of networks.split(' ')) {
      const [address = '', bits] = network.split('/');
      list.addSubnet(address, Number(bits), kind);
    }
  return list;
});
