// A client's write of settings: who may write which, to which file, and what it comes to under the layers above.

import { isAbsolute, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Principal } from '../auth/principal.ts';
import type { JsonValue } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import { type ConfigEdit, keyPathOf, type MergeStrategy, writeError } from './edits.ts';
import { isInForce, type Layer } from './layers.ts';
import type { ConfigSource, ConfigState } from './load.ts';
import { maskedAt } from './masking.ts';
import { isTable, type Table } from './tables.ts';

export interface WriteRequest {
  readonly principal: Principal;
  readonly edits: readonly {
    readonly keyPath: string;
    readonly value: JsonValue;
    readonly mergeStrategy: MergeStrategy;
  }[];
  readonly filePath?: string | null | undefined;
  readonly expectedVersion?: string | null | undefined;
}

export interface Written {
  readonly status: 'ok' | 'okOverridden';
  readonly version: string;
  readonly filePath: string;
  readonly overriddenMetadata: Overridden | null;
}

interface Overridden {
  readonly message: string;
  readonly overridingLayer: Pick<Layer, 'name' | 'version'>;
  readonly effectiveValue: unknown;
}

/** Who may work as whom, with what, where and how far, and what is deleted: only administrators write these. */
export const ADMIN_KEYS: ReadonlySet<string> = new Set([
  'approval_policy',
  'backend',
  'default_permissions',
  'model_provider',
  'model_providers',
  'mcp_servers',
  'mcp_oauth_credentials_store',
  'hooks',
  'rules',
  'projects',
  'plugins',
  'marketplaces',
  'remote',
  'retention',
  'sandbox_mode',
  'sandbox_workspace_write',
]);

/** All edits are on disk when it resolves, or none. Rejects as *forbidden* for settings that need `admin`. */
export async function writeSettings(source: ConfigSource, request: WriteRequest): Promise<Written> {
  const edits = request.edits.map(({ keyPath, value, mergeStrategy }) => ({
    path: keyPathOf(keyPath),
    value,
    mergeStrategy,
  }));
  checkFile(source.file, request.filePath);
  checkMayWrite(request.principal, edits);
  const layer = await source.editor.write(edits, request.expectedVersion ?? undefined);
  const state = await source.state();
  const overridden = edits.flatMap((edit) => overriddenBy(edit, state))[0] ?? null;
  return {
    status: overridden ? 'okOverridden' : 'ok',
    version: layer.version,
    filePath: source.file,
    overriddenMetadata: overridden,
  };
}

function checkFile(file: string, wanted: string | null | undefined): void {
  if (wanted === null || wanted === undefined) return;
  if (isAbsolute(wanted) && resolve(wanted) === file) return;
  throw writeError('configLayerReadonly', `Only writes to the user config are allowed: ${file}`);
}

function checkMayWrite(principal: Principal, edits: readonly ConfigEdit[]): void {
  if (principal.permissions.has('admin')) return;
  const barred = edits.find(({ path }) => ADMIN_KEYS.has(path[0] ?? ''));
  if (!barred) return;
  throw new AppError('forbidden', `writing \`${barred.path[0]}\` needs the permission admin`, { permission: 'admin' });
}

/** What stands above the file about the same setting, or a part of it, and says otherwise. */
function overriddenBy({ path, value }: ConfigEdit, { layers, config }: ConfigState): Overridden[] {
  const above = layers.findLast(({ name, settings, ...rest }) => {
    const isAbove = name.type !== 'user' && isInForce({ name, settings, ...rest });
    const theirs = isAbove ? at(settings, path) : undefined;
    return theirs !== undefined && !isDeepStrictEqual(theirs, value);
  });
  if (!above) return [];
  const { name, version } = above;
  const by = name.type === 'sessionFlags' ? 'a flag of the command line' : "the administrator's requirements";
  return [
    {
      message: `\`${path.join('.')}\` is overridden by ${by}`,
      overridingLayer: { name, version },
      effectiveValue: maskedAt(path, at(config, path)) ?? null,
    },
  ];
}

function at(table: Table, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (isTable(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
    table,
  );
}
