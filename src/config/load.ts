// The configuration in force: read from disk when it has changed, merged over defaults, with what is wrong beside it.

import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf } from '../base/errors.ts';
import { type ConfigProblem, configError, firstFault, problemText } from './faults.ts';
import { flagsLayer, type Layer, type LayerOrProblem, layerOf, yamlLayer } from './layers.ts';
import { type Config, checkConfig } from './schema.ts';
import { cleaned, expanded, merged, type Table } from './tables.ts';

export interface ConfigState {
  /** What is in force; without the file's settings while there is a problem with it. */
  readonly config: Config;
  /** Lowest first. */
  readonly layers: readonly Layer[];
  readonly problem: ConfigProblem | undefined;
}

export interface ConfigSource {
  /** The file in the data directory, whether it exists or not. */
  readonly file: string;
  /** Never rejects: a file that cannot be used is `problem`. Cheap while the file is unchanged. */
  state(): Promise<ConfigState>;
  /** The configuration for work that is to begin; rejects as *invalid* with file, line and column while there is a problem. */
  load(): Promise<Config>;
}

export interface ConfigOptions {
  readonly dataDirectory: string;
  /** `key=value` each, as given on the command line. */
  readonly flags?: readonly string[];
}

/** Throws as *invalid* when a flag cannot be used. Watches nothing: the file is looked at when the configuration is asked for. */
export function createConfigSource(options: ConfigOptions): ConfigSource {
  const file = join(options.dataDirectory, 'config.yaml');
  const flags = flagsLayer(options.flags ?? []);
  let known: { readonly stamp: string; readonly state: ConfigState } | undefined;
  const state = async (): Promise<ConfigState> => {
    const stamp = stampOf(file);
    if (known?.stamp !== stamp) known = { stamp, state: combine(await fileLayer(file), flags) };
    return known.state;
  };
  return {
    file,
    state,
    load: async () => {
      const { config, problem } = await state();
      if (problem) throw configError(problemText(problem));
      return config;
    },
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
    if (codeOf(error) === 'ENOENT') return { layer: layerOf({ type: 'user', file, profile: null }, {}) };
    return { problem: { message: messageOf(error), place: { file, line: 1, column: 1 } } };
  }
}

function combine(file: LayerOrProblem, flags: Layer): ConfigState {
  const layers = 'layer' in file ? [file.layer, flags] : [flags];
  return {
    config: configOf(layers.map((layer) => layer.settings)),
    layers,
    problem: 'problem' in file ? file.problem : undefined,
  };
}

function configOf(settings: readonly Table[]): Config {
  const all = settings.reduce(merged, {});
  const checked = checkConfig(all);
  if (!checked.success) throw configError(firstFault(checked.error, all).message);
  return checked.data;
}

/**
 * A configuration with a thread's own overrides over it: nested tables or dotted keys; null takes a setting back to its
 * default. Throws as *invalid*.
 */
export function withOverrides(config: Config, overrides: Readonly<Record<string, unknown>>): Config {
  return configOf([cleaned(merged(config, expanded(overrides)))]);
}
