// The configuration in force: read from disk when it has changed, merged over defaults, with what is wrong beside it.

import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf } from '../base/errors.ts';
import { type ConfigEditor, createConfigEditor } from './editor.ts';
import { type ConfigProblem, configError, firstFault, problemText } from './faults.ts';
import {
  flagsLayer,
  isInForce,
  type Layer,
  type LayerOrProblem,
  layerOf,
  peopleAsked,
  TOO_DEEP,
  userLayerName,
  yamlLayer,
} from './layers.ts';
import { type ProjectFile, projectFileOf, projectLayer } from './project-layer.ts';
import { required } from './required.ts';
import type { Requirements } from './requirements.ts';
import { type Config, checkConfig } from './schema.ts';
import { cleaned, expanded, isTable, isTooDeep, merged, type Table } from './tables.ts';
import { trustOf } from './thread-defaults.ts';

export interface ConfigState {
  /** What is in force; without the settings of a file while there is a problem with it. */
  readonly config: Config;
  /** Lowest first. */
  readonly layers: readonly Layer[];
  readonly problem: ConfigProblem | undefined;
  /** What is configured and does not count, a sentence each. */
  readonly notes: readonly string[];
}

export interface ConfigSource {
  /** The file in the data directory, whether it exists or not. */
  readonly file: string;
  readonly requirements: Requirements | undefined;
  /**
   * Never rejects: a file that cannot be used is `problem`. Cheap while the files are unchanged. With a folder (an absolute path)
   * the settings of its project count too, if it is trusted.
   */
  state(folder?: string): Promise<ConfigState>;
  /** The configuration for work that is to begin; rejects as *invalid* with file, line and column while there is a problem. */
  load(folder?: string): Promise<Config>;
  /** The same with settings over those of the flags; itself without. The same table gets the same source. */
  viewOf(own: Table | undefined): ConfigSource;
  /** Calls back whenever the file turns out to be another than before, as it is asked about. */
  onReread(listener: () => void): void;
  readonly editor: ConfigEditor;
}

export interface ConfigOptions {
  readonly dataDirectory: string;
  /** `key=value` each, as given on the command line. */
  readonly flags?: readonly string[];
  readonly requirements?: Requirements | undefined;
}

interface Known {
  readonly stamp: string;
  readonly state: ConfigState;
}

/** Throws as *invalid* when a flag cannot be used. Watches nothing: the files are looked at when the configuration is asked for. */
export function createConfigSource(options: ConfigOptions): ConfigSource {
  const { dataDirectory, requirements } = options;
  const file = join(dataDirectory, 'config.yaml');
  const flags = flagsLayer(options.flags ?? []);
  const views = new WeakMap<Table, ConfigSource>();
  const editor = createConfigEditor(file);
  const listeners: (() => void)[] = [];
  const reread = () => {
    for (const listener of listeners) listener();
  };
  const sourceWith = (layer: Layer): ConfigSource => {
    const state = readerOf({
      dataDirectory,
      requirements,
      file,
      above: [layer, ...requirementsLayer(requirements)],
      reread,
    });
    return {
      ...{ file, requirements, state, editor, onReread: (listener) => void listeners.push(listener) },
      load: async (folder) => {
        const { config, problem } = await state(folder);
        if (problem) throw configError(problemText(problem));
        return config;
      },
      viewOf: (own) => (own === undefined ? source : viewWith(own)),
    };
  };
  const viewWith = (own: Table): ConfigSource => {
    const known = views.get(own) ?? sourceWith(layerOf(flags.name, merged(flags.settings, own)));
    views.set(own, known);
    return known;
  };
  const source = sourceWith(flags);
  return source;
}

interface ReaderParts {
  readonly dataDirectory: string;
  readonly file: string;
  readonly above: readonly Layer[];
  readonly requirements: Requirements | undefined;
  readonly reread: () => void;
}

function readerOf({ dataDirectory, file, above, requirements, reread }: ReaderParts): ConfigSource['state'] {
  let known: Known | undefined;
  let user: LayerOrProblem;
  /** Of the folder that was asked about last: threads are started in one folder after another seldom. */
  let project: Known | undefined;
  const withProject = async (base: ConfigState, layer: LayerOrProblem, found: ProjectFile): Promise<ConfigState> => {
    const { outcome, ignored } = await projectLayer(found, trustOf(base.config, found.folder) === 'trusted');
    const { notes, ...rest } = combine([layer, outcome], above, requirements);
    const note = `${found.path} may not set ${ignored.join(', ')}: these settings do not count`;
    return { ...rest, notes: ignored.length > 0 ? [...notes, note] : notes };
  };
  return async (folder) => {
    const stamp = stampOf(file);
    if (known?.stamp !== stamp) {
      const layer = await fileLayer(file);
      user = layer;
      if (known) reread();
      known = { stamp, state: combine([layer], above, requirements) };
    }
    const found = folder === undefined ? undefined : projectFileOf(folder, dataDirectory);
    if (!found) return known.state;
    const both = `${stamp} ${found.stamp}`;
    if (project?.stamp !== both) project = { stamp: both, state: await withProject(known.state, user, found) };
    return project.state;
  };
}

/**
 * Differs whenever the file has been replaced or written to. Asked several times a turn: the way to a thread of the pool and back
 * takes ten times as long as the question, and the history beside the file is read in the same way.
 */
function stampOf(file: string): string {
  try {
    const { mtimeMs, ctimeMs, size, ino } = statSync(file);
    return `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
  } catch (error) {
    return codeOf(error) ?? 'unreadable';
  }
}

async function fileLayer(file: string): Promise<LayerOrProblem> {
  try {
    return await yamlLayer(await readFile(file, 'utf8'), file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { layer: layerOf(userLayerName(file), {}) };
    return { problem: { message: `the file cannot be read: ${unread(error)}`, place: { file, line: 1, column: 1 } } };
  }
}

function unread(error: unknown): string {
  const code = codeOf(error);
  if (code === 'EACCES' || code === 'EPERM') return `this user may not (${code}); correct its owner or mode`;
  return code === 'EISDIR' ? 'it is a folder; put a file in its place' : messageOf(error);
}

function requirementsLayer(requirements: Requirements | undefined): Layer[] {
  if (!requirements || Object.keys(requirements.settings).length === 0) return [];
  const { file, version, settings } = requirements;
  return [{ name: { type: 'enterpriseManaged', id: file, name: 'requirements' }, version, settings }];
}

function combine(
  files: readonly LayerOrProblem[],
  above: readonly Layer[],
  requirements: Requirements | undefined,
): ConfigState {
  const layers = [...files.flatMap((each) => ('layer' in each ? [each.layer] : [])), ...above];
  const settings = layers.filter(isInForce).map((layer) => layer.settings);
  const config = configOf(settings, requirements);
  return {
    config,
    layers,
    problem: files.flatMap((each) => ('problem' in each ? [each.problem] : []))[0],
    notes: narrowed(settings.reduce(merged, {}), config, requirements),
  };
}

/** What is configured and not allowed. */
function narrowed(settings: Table, config: Config, requirements: Requirements | undefined): string[] {
  if (!requirements) return [];
  const keys = ['approval_policy', 'sandbox_mode', 'default_permissions', 'sandbox_workspace_write'] as const;
  return keys
    .filter((key) => settings[key] !== undefined && isNarrowed(settings[key], config[key]))
    .map(
      (key) =>
        `${key} as configured is not allowed by ${requirements.file}; what counts is ${JSON.stringify(config[key])}`,
    );
}

/** Of a table, what was not configured is no matter. */
function isNarrowed(configured: unknown, inForce: unknown): boolean {
  if (!isTable(configured)) return JSON.stringify(configured) !== JSON.stringify(inForce);
  return Object.entries(configured).some(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(isTable(inForce) ? inForce[key] : undefined),
  );
}

function configOf(settings: readonly Table[], requirements?: Requirements): Config {
  const all = required(settings.reduce(merged, {}), requirements);
  const checked = checkConfig(all);
  if (!checked.success) throw configError(firstFault(checked.error, all).message);
  return checked.data;
}

/**
 * A configuration with a thread's own overrides over it: nested tables or dotted keys; null takes a setting back to its
 * default. What is required stays above. Throws as *invalid*.
 */
export function withOverrides(
  config: Config,
  overrides: Readonly<Record<string, unknown>>,
  requirements?: Requirements,
): Config {
  if (isTooDeep(overrides)) throw configError(TOO_DEEP);
  const settings = peopleAsked(cleaned(merged(config, expanded(overrides))));
  return configOf([settings, requirements?.settings ?? {}]);
}
