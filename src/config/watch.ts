// Notices that the configuration file was changed by somebody else than this program.

import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { ConfigSource, ConfigState } from './load.ts';

export interface ConfigWatch {
  close(): void;
}

/**
 * Calls back with the new state when settings, or what is wrong with them, have changed on disk; not for writes of the source's
 * own editor. Where the system cannot watch, nobody is told, and the file is still read when it is needed. A link to a file
 * elsewhere is not followed. Does not keep the process alive.
 */
export function watchConfig(source: ConfigSource, changed: (state: ConfigState) => void): ConfigWatch {
  let told: Promise<string> = source.state().then(markOf);
  const look = async (before: string): Promise<string> => {
    const state = await source.state();
    const mark = markOf(state);
    const version = versionOf(state);
    const isOwn = version !== undefined && version === source.editor.lastVersion();
    if (mark !== before && !isOwn) changed(state);
    return mark;
  };
  const name = basename(source.file);
  try {
    const watcher = watch(dirname(source.file), { persistent: false }, (_event, file) => {
      if (file === null || file === name) told = told.then(look);
    });
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return { close() {} };
  }
}

const versionOf = ({ layers }: ConfigState): string | undefined =>
  layers.find(({ name }) => name.type === 'user')?.version;

const markOf = (state: ConfigState): string => JSON.stringify([versionOf(state), state.problem]);
