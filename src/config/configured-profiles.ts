// A configured permission profile as a policy that commands can be held to, or why they cannot.

import { homedir } from 'node:os';
import { isAbsolute, join, normalize } from 'node:path';
import type { HeldPolicy, NetworkRules, ProfileRules } from '../model/policy.ts';
import { isWithin } from '../sandbox/policy.ts';
import { hostPattern } from './host-pattern.ts';
import { type Access, type NetworkTable, type Profile, ProfileFault } from './profile-tables.ts';

type Refuse = (what: string) => never;

/** Throws a `ProfileFault` for what cannot be enforced: nothing is left out that would leave commands more. */
export function policyOfTable(profile: Profile): HeldPolicy {
  const refuse: Refuse = (what) => {
    throw new ProfileFault(`permissions profile \`${profile.id}\` cannot be enforced: ${what}`);
  };
  if (profile.allowsGitWrites) refuse('`allow_limited_git_writes` is not known here');
  const { named, paths } = placesOf(profile, refuse);
  if (named.root !== 'read' && named.root !== 'write')
    refuse('commands can read all that is not denied: let `:root` be "read", or extend `:read-only` or `:workspace`');
  const having = (wanted: Access) => paths.filter(([, access]) => access === wanted).map(([path]) => path);
  const [denied, readOnly, write] = [having('deny'), having('read'), having('write')];
  const uncovered = readOnly.find((path) => denied.some((cover) => isWithin(path, cover)));
  if (uncovered !== undefined) refuse(`\`${uncovered}\` lies in a folder that is denied`);
  const writableRoots = [...(named.root === 'write' ? ['/'] : []), ...write];
  const workspace = workspaceOf(profile.workspace, refuse);
  const { isOpen, rules: network } = networkOf(profile.network, refuse);
  const rules: ProfileRules = { denied, readOnly, workspace, network };
  if (writableRoots.length === 0 && workspace.isReadOnly && workspace.write.length === 0)
    return { type: 'readOnly', networkAccess: isOpen, rules };
  return {
    type: 'workspaceWrite',
    writableRoots,
    networkAccess: isOpen,
    excludeTmpdirEnvVar: named.tmpdir !== 'write',
    excludeSlashTmp: named.slash_tmp !== 'write',
    rules,
  };
}

interface Places {
  readonly named: { readonly root?: Access; readonly tmpdir?: Access; readonly slash_tmp?: Access };
  readonly paths: readonly (readonly [string, Access])[];
}

function placesOf({ files }: Profile, refuse: Refuse): Places {
  const named: Record<string, Access> = {};
  const paths: [string, Access][] = [];
  for (const [name, access] of files) {
    if (!name.startsWith(':')) paths.push([absolute(name, refuse), access]);
    else if (name === ':minimal' && access === 'read') continue;
    else if ([':root', ':tmpdir', ':slash_tmp'].includes(name) && (access !== 'deny' || name === ':root'))
      named[name.slice(1)] = access;
    else refuse(`\`${name}\` with "${access}"`);
  }
  return { named, paths };
}

function absolute(path: string, refuse: Refuse): string {
  refusePattern(path, refuse);
  const whole = path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
  if (!isAbsolute(whole)) refuse(`\`${path}\` is not an absolute path`);
  return normalize(whole).replace(/(.)\/+$/, '$1');
}

function refusePattern(path: string, refuse: Refuse): void {
  if (/[*?[\]]/.test(path))
    refuse(`the pattern \`${path}\`: files that come later would not be held to it; name paths`);
  if (path.includes('\0')) refuse('a path holds a NUL character');
}

function workspaceOf(entries: ReadonlyMap<string, Access>, refuse: Refuse): ProfileRules['workspace'] {
  const { '.': all, ...below } = Object.fromEntries(
    [...entries].map(([path, access]) => [relativePath(path, refuse), access] as const),
  );
  if (all === 'deny') refuse('the workspace itself cannot be denied');
  const having = (wanted: Access) => Object.keys(below).filter((path) => below[path] === wanted);
  const [denied, write] = [having('deny'), having('write')];
  const isReadOnly = all !== 'write';
  const isIn = (path: string, folders: readonly string[]) => folders.some((each) => isWithin(path, each));
  // Elsewhere nothing is written anyway.
  const readOnly = having('read').filter((path) => !isReadOnly || isIn(path, write));
  const uncovered = having('read').find((path) => isIn(path, denied));
  if (uncovered !== undefined) refuse(`\`${uncovered}\` of the workspace lies in a folder that is denied`);
  return { isReadOnly, write, readOnly, denied };
}

function relativePath(path: string, refuse: Refuse): string {
  refusePattern(path, refuse);
  const plain = normalize(path).replace(/(.)\/+$/, '$1');
  if (isAbsolute(path) || plain === '..' || plain.startsWith('../'))
    refuse(`\`${path}\` does not lie in the workspace`);
  return plain;
}

/** `isOpen`: all of the network. */
function networkOf(
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
