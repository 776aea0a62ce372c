// The network of a configured permission profile: none, all of it, or single hosts.

import type { NetworkRules } from '../model/policy.ts';
import { hostPattern } from './host-pattern.ts';
import type { NetworkTable, Refuse } from './profile-tables.ts';

/** `isOpen`: all of the network. */
export function networkOf(
  table: NetworkTable,
  refuse: Refuse,
): { readonly isOpen: boolean; readonly rules: NetworkRules | null } {
  const unknown = (['allow_upstream_proxy', 'transparent_tcp', 'mitm'] as const).find((name) => table[name]);
  if (unknown) refuse(`\`network.${unknown}\``);
  const wide = (['dangerously_allow_non_loopback_proxy', 'dangerously_allow_all_unix_sockets'] as const).find(
    (name) => table[name],
  );
  if (wide) refuse(`\`network.${wide}\``);
  const socket = Object.entries(table.unix_sockets ?? {}).find(([, access]) => access === 'allow');
  if (socket) refuse(`the socket \`${socket[0]}\`: no sockets of this machine are given to commands`);
  const domains = Object.entries(table.domains ?? {}).map(([name, access]) => {
    const pattern = hostPattern(name);
    return [pattern ?? refuse(`\`${name}\` is no name of a host, nor \`*.\` or \`**.\` before one`), access] as const;
  });
  if (table.enabled !== true) return { isOpen: false, rules: null };
  const isLimited = table.mode === 'limited';
  if (domains.length === 0 && !isLimited) return { isOpen: true, rules: null };
  const having = (wanted: string) => domains.filter(([, access]) => access === wanted).map(([pattern]) => pattern);
  const allow = domains.length === 0 ? ['*'] : having('allow');
  return {
    isOpen: false,
    rules: { allow, deny: having('deny'), isLimited, allowsLocal: table.allow_local_binding === true },
  };
}
