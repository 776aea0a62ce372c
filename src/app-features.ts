// What clients may rely on here beyond the protocol, and what stands in the way of methods that are served.

import type { BackendName } from './app-backend.ts';
import type { Config } from './config/schema.ts';
import type { Bar } from './handshake/capabilities.ts';
import type { Session } from './rpc/session.ts';

/** docs/protocol.md tells of each. */
export const FEATURES = [
  'afterEventSeq',
  'idempotencyKey',
  'chosenIds',
  'ifBusy',
  'physicallySettled',
  'fileVersions',
  'approvals',
  'serverCapabilities',
];

/** They have a model work. */
const NEED_BACKEND: ReadonlySet<string> = new Set([
  'review/start',
  'thread/compact/start',
  'thread/queue/start',
  'turn/start',
]);

/** They act in or on a folder, which remote people may do below the roots of the operator only. */
const NEED_ROOT: ReadonlySet<string> = new Set([
  'command/exec',
  'fs/copy',
  'fs/createDirectory',
  'fs/getMetadata',
  'fs/readDirectory',
  'fs/readFile',
  'fs/remove',
  'fs/watch',
  'fs/writeFile',
  'fuzzyFileSearch',
  'fuzzyFileSearch/sessionStart',
  'process/spawn',
  'thread/start',
]);

/** They change what is stored, and mean nothing for ephemeral threads. */
const NEED_WRITES: ReadonlySet<string> = new Set([
  'thread/archive',
  'thread/attachment/add',
  'thread/attachment/remove',
  'thread/metadata/update',
  'thread/name/set',
  'thread/section/move',
  'thread/unarchive',
  'threadSection/create',
  'threadSection/delete',
  'threadSection/update',
]);

export interface Standing {
  readonly backend: BackendName;
  /** Why the history takes no writes. */
  readonly shut: string | undefined;
}

/** As the configuration stands now. */
export function barsOf({ principal }: Session, config: Config, { backend, shut }: Standing): readonly Bar[] {
  const hasNoRoot = !principal.isLocal && config.remote.roots.length === 0;
  return [
    ...(hasNoRoot ? [NO_ROOT] : []),
    ...(backend === 'unavailable' ? [NO_BACKEND] : []),
    ...(shut === undefined ? [] : [noWrites(shut)]),
  ];
}

const noWrites = (reason: string): Bar => ({
  bars: (method) => NEED_WRITES.has(method),
  by: { switch: 'history' },
  reason,
});

const NO_ROOT: Bar = {
  bars: (method) => NEED_ROOT.has(method),
  by: { policy: 'remote.roots' },
  reason: 'remote.roots of the configuration names no folder that remote clients may use',
};

const NO_BACKEND: Bar = {
  bars: (method) => NEED_BACKEND.has(method),
  by: { switch: 'backend' },
  reason: 'no backend is chosen, so that every turn fails; choose runtime or mock',
};
