// Reads settings as a server would, and writes them into the file of the data directory.

import { mkdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { JsonValue } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import { createConfigEditor } from '../config/editor.ts';
import { keyPathOf } from '../config/edits.ts';
import { configError, problemText } from '../config/faults.ts';
import { flagValue } from '../config/layers.ts';
import { createConfigSource } from '../config/load.ts';
import { masked } from '../config/masking.ts';
import { readRequirements, requirementsFile } from '../config/requirements.ts';
import { isTable } from '../config/tables.ts';
import { noteOfUnknown } from './config-schema.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { visible } from './terminal.ts';

export interface SettingQuery {
  readonly dataDirectory: string;
  /** Undefined: all settings. */
  readonly key: string | undefined;
  /** As threads in this folder have it. */
  readonly folder: string;
  /** `key=value` each. */
  readonly flags: readonly string[];
}

/**
 * A text is printed as it is, anything else as JSON; what is not set gives exit code 1. Rejects as *invalid* for a configuration
 * that cannot be used.
 */
export async function printSetting({ dataDirectory, key, folder, flags }: SettingQuery): Promise<ExitCode> {
  const requirements = await readRequirements(requirementsFile(process.platform));
  const source = createConfigSource({ dataDirectory: await placeOf(dataDirectory), flags, requirements });
  const { config, problem, notes } = await source.state(resolve(folder));
  if (problem) throw configError(problemText(problem));
  for (const note of notes) process.stderr.write(`heddle: ${visible(note)}\n`);
  return printValue(masked(config), key);
}

/** All of them without a key. */
export function printValue(config: unknown, key: string | undefined): ExitCode {
  const path = key === undefined ? [] : keyPathOf(key);
  const value = path.reduce<unknown>(
    (inner, name) => (isTable(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
    config,
  );
  if (value === undefined || value === null) {
    const isKnown = key === undefined || noteOfUnknown(path) === undefined;
    process.stderr.write(`heddle: \`${key}\` is not set${isKnown ? '' : ', and no setting has this name'}\n`);
    return EXIT.failed;
  }
  process.stdout.write(typeof value === 'string' ? `${visible(value)}\n` : `${JSON.stringify(value, null, 2)}\n`);
  return EXIT.done;
}

export interface SettingWrite {
  readonly dataDirectory: string;
  readonly key: string;
  /** As typed; undefined takes the setting out. */
  readonly value: string | undefined;
}

/** Rejects as *invalid* for a file or a setting that cannot be used; the file is as it was then. */
export async function writeSetting({ dataDirectory, key, value }: SettingWrite): Promise<ExitCode> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const typed = typedValue(value);
  const editor = createConfigEditor(join(await placeOf(dataDirectory), 'config.yaml'));
  await editor.write([{ path: keyPathOf(key), value: typed, mergeStrategy: 'replace' }]);
  tellOfUnknown(key, value);
  return EXIT.done;
}

/** Whoever sets a setting that is misspelt would look for its effect elsewhere. */
export function tellOfUnknown(key: string, value: string | undefined): void {
  const note = value === undefined ? undefined : noteOfUnknown(keyPathOf(key));
  if (note !== undefined) process.stderr.write(`heddle: ${visible(note)}\n`);
}

/** As it is typed: TOML, or text where it is none; null takes the setting out. Throws as *invalid*. */
export function typedValue(value: string | undefined): JsonValue {
  const typed = value === undefined ? null : flagValue(value);
  if (typed instanceof Date) throw new AppError('invalid', 'no setting is a date; put the text in quotation marks');
  return typed as JsonValue;
}

/** The data directory as a server calls it. */
async function placeOf(directory: string): Promise<string> {
  return realpath(directory).catch(() => directory);
}
