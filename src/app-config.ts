// The configuration of a server: under what the administrator requires, and what connected clients are told about it.

import type { Log } from './base/log.ts';
import { configWarningOf, noteWarningOf } from './config/handlers.ts';
import { type ConfigSource, type ConfigState, createConfigSource } from './config/load.ts';
import { configWarning } from './config/methods.ts';
import { readRequirements, requirementsFile } from './config/requirements.ts';
import { type ConfigWatch, watchConfig } from './config/watch.ts';
import type { Session, Sessions } from './rpc/session.ts';

export interface RequirementsPlace {
  readonly file: string;
  /** The user id of the administrator. */
  readonly owner: number;
}

/** Rejects as *invalid* for a wrong flag, and as *unavailable* for requirements that cannot be kept. */
export async function openConfig(options: {
  readonly dataDirectory: string;
  readonly flags: readonly string[];
  /** Default: root's file at the place of the platform. */
  readonly requirements: RequirementsPlace | undefined;
}): Promise<ConfigSource> {
  const { file, owner } = options.requirements ?? { file: requirementsFile(process.platform), owner: 0 };
  return createConfigSource({ ...options, requirements: await readRequirements(file, owner) });
}

/** The same source; `look` goes before each configuration for work that is to begin. */
export function loadingAfter(look: () => Promise<unknown>, source: ConfigSource): ConfigSource {
  return {
    ...source,
    load: (folder) => look().then(() => source.load(folder)),
    viewOf: (own) => loadingAfter(look, source.viewOf(own)),
  };
}

export interface ConfigNews extends ConfigWatch {
  /** Tells a client that has come what is wrong. */
  tell(session: Session): void;
  /** Tells a client that works in a folder what does not count of the settings of its project, once. */
  tellOfFolder(session: Session, folder: string): void;
}

const CHANGED = 'The configuration file was changed. Threads that are loaded keep the settings that they started with.';

/** Tells clients of what does not count, and of changes that were made outside while they have threads loaded. */
export function createConfigNews(parts: {
  readonly source: ConfigSource;
  readonly sessions: Sessions;
  readonly loadedThreads: (tenant: string) => readonly string[];
  readonly log: Log;
}): ConfigNews {
  const { source, sessions, loadedThreads, log } = parts;
  const warn = (session: Session, { problem, notes }: ConfigState) => {
    if (problem) session.notify(configWarning, configWarningOf(problem));
    else if (notes.length > 0) session.notify(configWarning, noteWarningOf('Some settings do not count.', notes));
  };
  const watch = watchConfig(source, (state) => {
    for (const session of sessions) {
      warn(session, state);
      if (state.problem || loadedThreads(session.principal.tenant).length === 0) continue;
      session.notify(configWarning, noteWarningOf(CHANGED, []));
    }
  });
  const saidOfFolders = new WeakMap<Session, Set<string>>();
  const unlooked = (error: unknown) => log.error({ err: error }, 'the configuration could not be looked at');
  const warnOfFolder = async (session: Session, folder: string) => {
    const view = source.viewOf(session.client.settings);
    const [common, { problem, notes }] = [await view.state(), await view.state(folder)];
    const news = { ...common, problem, notes: notes.filter((note) => !common.notes.includes(note)) };
    const said = saidOfFolders.get(session) ?? new Set();
    saidOfFolders.set(session, said);
    const mark = JSON.stringify([problem, news.notes]);
    if (common.problem || said.has(mark)) return;
    said.add(mark);
    warn(session, news);
  };
  return {
    tell: (session) => void source.state().then((state) => warn(session, state), unlooked),
    tellOfFolder: (session, folder) => {
      // What lies in folders is not told to those who may not look into all of them.
      if (session.principal.isLocal) void warnOfFolder(session, folder).catch(unlooked);
    },
    close: () => watch.close(),
  };
}
