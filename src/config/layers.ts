// Layers of settings, lowest first: the file of the data directory, that of a trusted project, the flags, what is required.

import { parse as parseToml } from 'smol-toml';
import type { Document, YAMLParseError } from 'yaml';
import { fingerprint } from '../base/canonical.ts';
import { AppError, messageOf } from '../base/errors.ts';
import { ApprovalsReviewer } from '../model/policy.ts';
import { tooDeepAt } from './depth.ts';
import { type ConfigProblem, firstFault, type Place } from './faults.ts';
import { checkConfig } from './schema.ts';
import { cleaned, isTable, isTooDeep, leaves, merged, nested, type Table } from './tables.ts';

export type LayerName =
  | { readonly type: 'user'; readonly file: string; readonly profile: null }
  /** `.heddle`, with its `config.toml`. */
  | { readonly type: 'project'; readonly dotCodexFolder: string }
  | { readonly type: 'sessionFlags' }
  /** The requirements of the administrator; `id` is their file. */
  | { readonly type: 'enterpriseManaged'; readonly id: string; readonly name: string };

export interface Layer {
  readonly name: LayerName;
  /** A digest of the settings; changes when they do. */
  readonly version: string;
  readonly settings: Table;
  /** Why the layer does not count. */
  readonly disabledReason?: string;
}

export type LayerOrProblem = { readonly layer: Layer } | { readonly problem: ConfigProblem };

export function layerOf(name: LayerName, settings: Table): Layer {
  return { name, settings, version: `sha256:${fingerprint(settings)}` };
}

export type ReadYaml =
  | { readonly table: Table; readonly placeOf: (path: readonly PropertyKey[]) => Place }
  | { readonly problem: ConfigProblem };

export const TOO_DEEP = 'settings are nested too deeply';

function placeInText(text: string, offset: number, file: string): Place {
  const before = text.slice(0, offset).split('\n');
  return { file, line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

const faultOf = ({ code, message }: YAMLParseError): string =>
  code === 'MULTIPLE_DOCS' ? 'a second document begins here (`---`): leave all settings in one' : message;

/** What a YAML text says, word for word, or why it cannot be read. */
export async function readYaml(text: string, file: string): Promise<ReadYaml> {
  // Loaded on use: most starts find no file.
  const { isMap, LineCounter, parseDocument } = await import('yaml');
  const lines = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  let document: Document;
  let value: unknown;
  const deep = await tooDeepAt(text);
  if (deep !== undefined) return { problem: { message: TOO_DEEP, place: placeInText(text, deep, file) } };
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
    const [broken] = document.errors;
    if (broken) return { problem: { message: faultOf(broken), place: placeAt(broken.pos[0]) } };
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return { problem: { message: messageOf(error), place: placeAt(0) } };
  }
  if (isTooDeep(value)) return { problem: { message: TOO_DEEP, place: placeAt(0) } };
  const placeOf = (path: readonly PropertyKey[]) => placeAt(offsetOf(document, path));
  if (value === null || value === undefined) return { table: {}, placeOf };
  if (isMap(document.contents) && isTable(value)) return { table: value, placeOf };
  return { problem: { message: 'expected settings, one `name: value` a line', place: placeAt(0) } };
}

/** The settings of a YAML text, or the first thing that is wrong with it. */
export async function yamlLayer(text: string, file: string): Promise<LayerOrProblem> {
  const read = await readYaml(text, file);
  if ('problem' in read) return read;
  const settings = peopleAsked(cleaned(read.table));
  const checked = checkConfig(settings);
  if (checked.success) return { layer: layerOf(userLayerName(file), settings) };
  const fault = firstFault(checked.error, settings);
  return { problem: { message: fault.message, place: read.placeOf(fault.path) } };
}

export const userLayerName = (file: string): LayerName => ({ type: 'user', file, profile: null });

/** Where the deepest part of the path that is in the document begins. */
function offsetOf(document: Pick<Document, 'getIn'>, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true) as { range?: readonly number[] } | undefined;
    if (node?.range) return node.range[0] ?? 0;
  }
  return 0;
}

/** The settings of `-c key=value` flags; later ones win. Throws as *invalid* on a flag that is not of that form or kind. */
export function flagsLayer(flags: readonly string[]): Layer {
  const settings = flags.reduce<Table>((table, flag) => {
    const equals = flag.indexOf('=');
    const key = flag.slice(0, Math.max(equals, 0)).trim();
    if (key === '') throw new AppError('invalid', `Invalid override (expected key=value): ${flag}`);
    const setting = nested(key, flagValue(flag.slice(equals + 1).trim()));
    if (isTooDeep(setting)) throw new AppError('invalid', `failed to load configuration: ${TOO_DEEP}`);
    return merged(table, setting);
  }, {});
  const kept = peopleAsked(cleaned(settings));
  const checked = checkConfig(kept);
  if (!checked.success) {
    throw new AppError('invalid', `failed to load configuration: ${firstFault(checked.error, kept).message}`);
  }
  return layerOf({ type: 'sessionFlags' }, kept);
}

/** With `other_reviewers: people` among these settings, people take the place of every other reviewer that there is. */
export function peopleAsked(settings: Table): Table {
  const isOther = settings.other_reviewers === 'people' && isReviewer(settings.approvals_reviewer);
  return isOther ? { ...settings, approvals_reviewer: 'user' } : settings;
}

const isReviewer = (name: unknown): boolean => ApprovalsReviewer().safeParse(name).success;

/** A value as TOML writes it; what is not TOML is text, so that `-c model=o3` needs no quotes. */
export function flagValue(text: string): unknown {
  try {
    return parseToml(`value = ${text}`).value;
  } catch {
    return text.replace(/^(["'])(.*)\1$/, '$2');
  }
}

/** Who set what: the dotted key of each setting, and the highest layer that has it. */
export function originsOf(layers: readonly Layer[]): Record<string, Pick<Layer, 'name' | 'version'>> {
  return Object.fromEntries(
    layers
      .filter(isInForce)
      .flatMap(({ name, version, settings }) => leaves(settings).map((key) => [key, { name, version }])),
  );
}

export const isInForce = ({ disabledReason }: Layer): boolean => disabledReason === undefined;
