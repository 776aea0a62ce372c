// Who is on the other end of a connection: established once, by the transport, before the first frame.

export const PERMISSIONS = [
  'thread:read',
  'thread:write',
  'approval:resolve',
  'fs',
  'process',
  'config',
  'admin',
] as const;

export type Permission = (typeof PERMISSIONS)[number];

export interface Principal {
  /** Partition of all stored records; "local" when there is no other. */
  readonly tenant: string;
  readonly subject: string;
  readonly permissions: ReadonlySet<Permission>;
  /** Local: stdio, Unix socket, or a loopback WebSocket listener that is not behind a proxy. */
  readonly isLocal: boolean;
  /** Epoch milliseconds after which the connection is closed; undefined: never. */
  readonly expiresAtMs?: number;
}

export const LOCAL_TENANT = 'local';

/** The person who runs this process: all permissions. */
export const localPrincipal: Principal = {
  tenant: LOCAL_TENANT,
  subject: 'local',
  permissions: new Set(PERMISSIONS),
  isLocal: true,
};
