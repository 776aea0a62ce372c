// The settings that a project brings along in `.heddle/config.toml`: nearest folder first, only when trusted, and few of them.

import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { firstFault, type Place } from './faults.ts';
import { type Layer, type LayerOrProblem, layerOf, TOO_DEEP } from './layers.ts';
import { checkConfig } from './schema.ts';
import { cleaned, deepLine, isTable, isTooDeep, type Table } from './tables.ts';

/**
 * What a project may choose: how the model works, never what it may do, where it runs, what it costs or who is asked. Anything
 * that is not listed is not taken.
 */
const PROJECT_KEYS: ReadonlySet<string> = new Set([
  'model',
  'review_model',
  'model_context_window',
  'model_auto_compact_token_limit',
  'model_reasoning_effort',
  'model_reasoning_summary',
  'service_tier',
  'instructions',
  'developer_instructions',
]);

const FILE = join('.heddle', 'config.toml');
const MAX_BYTES = 1_048_576;

export interface ProjectFile {
  readonly path: string;
  /** The folder that has `.heddle`. */
  readonly folder: string;
  /** Differs whenever the file has been changed. */
  readonly stamp: string;
}

/** The nearest one from `cwd` up to the folder with `.git`; without such a folder only that of `cwd`. Never the one of `home`. */
export function projectFileOf(cwd: string, home: string): ProjectFile | undefined {
  let found: ProjectFile | undefined;
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, FILE);
    const stats = found || dirname(path) === home ? undefined : statOf(path);
    if (stats?.isFile())
      found = { path, folder, stamp: `${path} ${stats.mtimeMs} ${stats.ctimeMs} ${stats.size} ${stats.ino}` };
    if (statOf(join(folder, '.git'))) return found;
    if (folder === dirname(folder)) return found?.folder === cwd ? found : undefined;
  }
}

function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

export interface ProjectLayer {
  readonly outcome: LayerOrProblem;
  /** Settings of the file that projects may not have; they do not count. */
  readonly ignored: readonly string[];
}

/** Reads a file only when it is trusted: an untrusted one is named with the reason why it does not count. */
export async function projectLayer(file: ProjectFile, isTrusted: boolean): Promise<ProjectLayer> {
  const name = { type: 'project', dotCodexFolder: dirname(file.path) } as const;
  if (!isTrusted) {
    const disabledReason = `the folder ${file.folder} is not trusted: projects."${file.folder}".trust_level`;
    return { outcome: { layer: { ...layerOf(name, {}), disabledReason } }, ignored: [] };
  }
  const read = await readToml(file.path);
  if ('problem' in read) return { outcome: read, ignored: [] };
  const taken = Object.entries(read.table).filter(([key]) => PROJECT_KEYS.has(key));
  const settings = cleaned(Object.fromEntries(taken));
  const ignored = Object.keys(read.table).filter((key) => !PROJECT_KEYS.has(key));
  const checked = checkConfig(settings);
  if (checked.success) return { outcome: { layer: layerOf(name, settings) satisfies Layer }, ignored };
  const place: Place = { file: file.path, line: 1, column: 1 };
  return { outcome: { problem: { message: firstFault(checked.error, settings).message, place } }, ignored };
}

async function readToml(
  path: string,
): Promise<{ readonly table: Table } | Extract<LayerOrProblem, { problem: unknown }>> {
  const at = (message: string, line = 1, column = 1) => ({ problem: { message, place: { file: path, line, column } } });
  const { parse, TomlError } = await import('smol-toml');
  try {
    if ((statOf(path)?.size ?? 0) > MAX_BYTES) return at(`the file is larger than ${MAX_BYTES} bytes`);
    const text = await readFile(path, 'utf8');
    const table: unknown = parse(text);
    if (isTooDeep(table)) return at(TOO_DEEP, deepLine(text));
    return isTable(table) ? { table } : at('expected settings');
  } catch (error) {
    if (!(error instanceof TomlError)) return at(messageOf(error));
    return at(error.message.split('\n')[0] ?? 'it is not TOML', error.line, error.column);
  }
}
