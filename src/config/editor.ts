// Writes settings into the configuration file: all of a write or nothing of it, and no byte besides.

import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { access, constants, mkdir, open, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError, codeOf, diskAdvice, messageOf } from '../base/errors.ts';
import { syncFolder } from '../base/folders.ts';
import { Mailbox } from '../base/mailbox.ts';
import { type ConfigEdit, edited, writeError } from './edits.ts';
import { configError, firstFault, problemText } from './faults.ts';
import { type Layer, layerOf, readYaml, userLayerName } from './layers.ts';
import { checkConfig } from './schema.ts';
import { cleaned } from './tables.ts';

/** No write takes as long. */
const DRAFT_LIFE_MS = 60_000;

export interface ConfigEditor {
  /**
   * The layer of the file after the edits; on disk when it resolves. Edits that change nothing leave the file alone.
   * Rejects as *conflict* when the settings are no longer those of `expectedVersion`, as *invalid* for a file that cannot be read,
   * with its place, and for settings that are none.
   */
  write(edits: readonly ConfigEdit[], expectedVersion?: string): Promise<Layer>;
  /** Of the layer that was written last, also while its file is being replaced. */
  lastVersion(): string | undefined;
}

/** Writes run one after another. The file is made where there is none; a link is followed, and the mode kept. */
export function createConfigEditor(file: string): ConfigEditor {
  const writes = new Mailbox();
  let last: string | undefined;
  const ready = ({ version }: Layer) => {
    last = version;
  };
  return {
    write: (edits, expectedVersion) => writes.run(() => write({ file, edits, expectedVersion, ready })),
    lastVersion: () => last,
  };
}

interface Write {
  readonly file: string;
  readonly edits: readonly ConfigEdit[];
  readonly expectedVersion: string | undefined;
  /** Called before the file is replaced. */
  readonly ready: (layer: Layer) => void;
}

async function write({ file, edits, expectedVersion, ready }: Write): Promise<Layer> {
  const before = await textOf(file);
  const read = await readYaml(before ?? '', file);
  if ('problem' in read) throw configError(problemText(read.problem));
  if (expectedVersion !== undefined && layerOf(userLayerName(file), cleaned(read.table)).version !== expectedVersion) {
    throw changedMeanwhile();
  }
  const table = edited(read.table, edits);
  const settings = cleaned(table);
  const checked = checkConfig(settings);
  if (!checked.success) {
    const { message } = firstFault(checked.error, settings);
    throw writeError('configValidationError', `Invalid configuration: ${message}`);
  }
  const { editedYaml } = await import('./yaml-edit.ts');
  const after = await editedYaml(before ?? '', table);
  const layer = layerOf(userLayerName(file), settings);
  if (after === (before ?? '')) return layer;
  ready(layer);
  await replaceFile(file, before, after);
  return layer;
}

const changedMeanwhile = (): AppError =>
  writeError('configVersionConflict', 'Configuration was modified since last read. Fetch latest version and retry.');

/** Undefined: there is no file. Rejects for bytes that are no UTF-8: they could not be written back as they were. */
async function textOf(file: string): Promise<string | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw configError(`${file}: ${messageOf(error)}`);
  }
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) throw configError(`${file}: the file is not UTF-8`);
  return text;
}

/** The text appears whole or not at all. */
async function replaceFile(file: string, before: string | undefined, after: string): Promise<void> {
  try {
    const target = await targetOf(file);
    const folder = dirname(target);
    if (before === undefined) await mkdir(folder, { recursive: true, mode: 0o700 });
    else await access(target, constants.W_OK);
    await removeOldDrafts(folder);
    const draft = join(folder, `.config-${randomBytes(6).toString('hex')}`);
    try {
      await writeDraft(draft, after, before === undefined ? undefined : target);
      // In one breath: whoever else replaces the file in between would lose what was written.
      if (textNow(target) !== before) throw changedMeanwhile();
      renameSync(draft, target);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    await syncFolder(folder);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError(
      'unavailable',
      `cannot write ${file}: ${diskAdvice(error) ?? codeOf(error) ?? messageOf(error)}`,
    );
  }
}

function textNow(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Drafts of programs that were killed before they could use them. */
async function removeOldDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/^\.config-[0-9a-f]{12}$/.test(name)) continue;
    const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (Date.now() - mtimeMs > DRAFT_LIFE_MS) await rm(join(folder, name), { force: true });
  }
}

/** What is written to when the file is a link. */
async function targetOf(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return file;
    throw error;
  }
}

/** Mode and owner are those of `like`; a new file is for its owner only. */
async function writeDraft(draft: string, text: string, like: string | undefined): Promise<void> {
  const known = like === undefined ? undefined : await stat(like);
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    const own = await handle.stat();
    if (known && (known.uid !== own.uid || known.gid !== own.gid)) await handle.chown(known.uid, known.gid);
    if (known) await handle.chmod(known.mode & 0o7777);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
