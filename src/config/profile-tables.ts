// The permission profiles of the configuration as tables: read strictly, with what each one extends.

import { z } from 'zod';
import { firstFault } from './faults.ts';
import type { Config } from './schema.ts';

const NetworkTable = () =>
  z.strictObject({
    enabled: z.boolean().nullish(),
    mode: z.enum(['full', 'limited']).nullish(),
    domains: z.record(z.string(), z.enum(['allow', 'deny'])).nullish(),
    allow_local_binding: z.boolean().nullish(),
    /** The proxy is our own, and tells commands where it is. */
    proxy_url: z.string().nullish(),
    socks_url: z.string().nullish(),
    enable_socks5: z.boolean().nullish(),
    enable_socks5_udp: z.boolean().nullish(),
    allow_upstream_proxy: z.boolean().nullish(),
    transparent_tcp: z.boolean().nullish(),
    mitm: z.unknown().nullish(),
    unix_sockets: z.record(z.string(), z.enum(['allow', 'deny', 'none'])).nullish(),
    dangerously_allow_non_loopback_proxy: z.boolean().nullish(),
    dangerously_allow_all_unix_sockets: z.boolean().nullish(),
  });
export type NetworkTable = z.output<ReturnType<typeof NetworkTable>>;

const Access = () =>
  z.enum(['read', 'write', 'deny', 'none']).transform((access) => (access === 'none' ? 'deny' : access));
export type Access = z.output<ReturnType<typeof Access>>;

const ProfileTable = () =>
  z.strictObject({
    description: z.string().nullish(),
    extends: z.string().nullish(),
    workspace_roots: z.record(z.string(), z.boolean()).nullish(),
    filesystem: z
      .object({ allow_limited_git_writes: z.boolean().nullish(), glob_scan_max_depth: z.int().min(1).nullish() })
      .catchall(z.union([Access(), z.record(z.string(), Access())]))
      .nullish(),
    network: NetworkTable().nullish(),
  });

/** All that a profile says, what it extends included. */
export interface Profile {
  readonly id: string;
  readonly extends: string | null;
  readonly description: string | null;
  readonly roots: readonly string[];
  /** By path or special name; of the workspace by relative path, `.` for all of it. */
  readonly files: ReadonlyMap<string, Access>;
  readonly workspace: ReadonlyMap<string, Access>;
  readonly allowsGitWrites: boolean;
  /** Levels of folders that are looked through for what patterns match; null: all. */
  readonly scanDepth: number | null;
  readonly network: NetworkTable;
}

/** Why a profile cannot be used; for people. */
export class ProfileFault extends Error {
  override readonly name = 'ProfileFault';
}

/** Throws a `ProfileFault` that says which part of a profile cannot be enforced. */
export type Refuse = (what: string) => never;

const WORKSPACE_NAMES: readonly string[] = [':workspace_roots', ':project_roots'];

const EMPTY = { extends: null, description: null, roots: [], allowsGitWrites: false, scanDepth: null, network: {} };
const READ_ONLY: Profile = { ...EMPTY, id: ':read-only', files: new Map([[':root', 'read']]), workspace: new Map() };
const WORKSPACE: Profile = {
  ...READ_ONLY,
  id: ':workspace',
  files: new Map([...READ_ONLY.files, [':tmpdir', 'write'], [':slash_tmp', 'write']]),
  workspace: new Map([['.', 'write']]),
};

/** What configured profiles may extend beside each other. */
const BASES: ReadonlyMap<string, Profile> = new Map([READ_ONLY, WORKSPACE].map((base) => [base.id, base]));

/** Throws a `ProfileFault` when there is none of that name, or it is not understood as a whole. */
export function readProfile(
  { permissions }: Pick<Config, 'permissions'>,
  id: string,
  below: readonly string[] = [],
): Profile {
  const base = BASES.get(id);
  if (base) return base;
  const user = below.at(-1);
  if (below.includes(id)) throw new ProfileFault(`permissions profile \`${id}\` extends itself`);
  if (id.startsWith(':') && user !== undefined)
    throw new ProfileFault(`permissions profile \`${user}\` cannot extend \`${id}\``);
  if (!Object.hasOwn(permissions, id))
    throw new ProfileFault(
      user === undefined
        ? `default_permissions refers to undefined profile \`${id}\``
        : `permissions profile \`${user}\` extends undefined profile \`${id}\``,
    );
  const parsed = ProfileTable().safeParse(permissions[id], { jitless: true });
  if (!parsed.success)
    throw new ProfileFault(`permissions profile \`${id}\`: ${firstFault(parsed.error, permissions[id]).message}`);
  const table = parsed.data;
  const parent = table.extends ? readProfile({ permissions }, table.extends, [...below, id]) : undefined;
  return merged(id, table, parent);
}

function merged(id: string, table: z.output<ReturnType<typeof ProfileTable>>, parent: Profile | undefined): Profile {
  const { allow_limited_git_writes, glob_scan_max_depth, ...entries } = table.filesystem ?? {};
  const files = new Map(parent?.files);
  let workspace = new Map(parent?.workspace);
  for (const [name, access] of Object.entries(entries)) {
    const isWorkspace = WORKSPACE_NAMES.includes(name);
    if (typeof access === 'object') {
      if (!isWorkspace) throw new ProfileFault(`permissions profile \`${id}\`: \`${name}\` takes no paths below it`);
      for (const [path, each] of Object.entries(access)) workspace.set(path, each);
    } else if (isWorkspace) workspace = new Map([['.', access]]);
    else files.set(name, access as Access);
  }
  const roots = Object.entries(table.workspace_roots ?? {});
  const dropped = roots.filter(([, isOn]) => !isOn).map(([path]) => path);
  return {
    id,
    extends: table.extends ?? null,
    description: table.description ?? null,
    roots: [...new Set([...(parent?.roots ?? []), ...roots.map(([path]) => path)])].filter(
      (path) => !dropped.includes(path),
    ),
    files,
    workspace,
    allowsGitWrites: allow_limited_git_writes ?? parent?.allowsGitWrites ?? false,
    scanDepth: glob_scan_max_depth ?? parent?.scanDepth ?? null,
    network: mergedNetwork(parent?.network ?? {}, table.network ?? {}),
  };
}

function mergedNetwork(parent: NetworkTable, own: NetworkTable): NetworkTable {
  const told = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null && value !== undefined));
  return {
    ...parent,
    ...told,
    domains: { ...parent.domains, ...own.domains },
    unix_sockets: { ...parent.unix_sockets, ...own.unix_sockets },
  };
}
