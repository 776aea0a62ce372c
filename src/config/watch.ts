// Notices that the configuration file was changed by somebody else than this program.

import { type FSWatcher, readlinkSync, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { ConfigSource, ConfigState } from './load.ts';

export interface ConfigWatch {
  close(): void;
}

/**
 * Calls back with the new state when settings, or what is wrong with them, have changed on disk; not for writes of the source's
 * own editor. Links are followed. What the system does not tell is noticed when the configuration is needed the next time. Does
 * not keep the process alive.
 */
export function watchConfig(source: ConfigSource, changed: (state: ConfigState) => void): ConfigWatch {
  let told: Promise<string> = source.state().then(markOf);
  let isClosed = false;
  const look = async (before: string): Promise<string> => {
    const state = await source.state();
    const mark = markOf(state);
    const version = versionOf(state);
    const isOwn = version !== undefined && version === source.editor.lastVersion();
    if (mark !== before && !isOwn && !isClosed) changed(state);
    return mark;
  };
  const lookAgain = () => {
    told = told.then(look);
  };
  const places = watchPlaces(source.file, lookAgain);
  source.onReread(lookAgain);
  return {
    close() {
      isClosed = true;
      places.close();
    },
  };
}

/** Watches the folders of a file and of all that it leads to, also when it leads elsewhere from now on. */
function watchPlaces(file: string, changed: () => void): ConfigWatch {
  let watched: readonly string[] = [];
  let watchers: readonly FSWatcher[] = [];
  const close = () => {
    for (const watcher of watchers) watcher.close();
  };
  const follow = () => {
    const places = placesOf(file);
    if (places.join('\0') === watched.join('\0')) return;
    close();
    watched = places;
    watchers = places.flatMap(watchOne);
  };
  const watchOne = (place: string): FSWatcher[] => {
    try {
      const watcher = watch(dirname(place), { persistent: false }, (_event, name) => {
        if (name !== null && name !== basename(place)) return;
        follow();
        changed();
      });
      return [watcher.on('error', () => watcher.close())];
    } catch {
      return [];
    }
  };
  follow();
  return { close };
}

/** No system follows more. */
const MAX_LINKS = 40;

/** The file, and what it leads to link by link. */
function placesOf(file: string): readonly string[] {
  const places = [file];
  for (let at = file; places.length <= MAX_LINKS; places.push(at)) {
    try {
      at = resolve(dirname(at), readlinkSync(at));
    } catch {
      break;
    }
  }
  return places;
}

const versionOf = ({ layers }: ConfigState): string | undefined =>
  layers.find(({ name }) => name.type === 'user')?.version;

const markOf = (state: ConfigState): string => JSON.stringify([versionOf(state), state.problem]);
