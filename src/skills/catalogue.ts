// Where skills are looked for, and which of them somebody has in a folder.

import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ConfigSource } from '../config/load.ts';
import { isBelow, isInside, realPathOf } from '../fs/containment.ts';
import { denialsOf, isDeniedWay } from '../fs/denials.ts';
import type { UserInput } from '../model/input.ts';
import { type Found, findSkills, type Skill, type SkillRoot } from './discovery.ts';
import { isEnabled } from './enabled.ts';
import { mentionsSkills, withSkills } from './mentions.ts';

export interface SkillPlaces {
  readonly config: ConfigSource;
  readonly dataDirectory: string;
  /** Of the user. */
  readonly home: string;
  /** What the administrator gives to all users. */
  readonly systemFolder: string;
  /** What no skill of a project may lead to, and remote people never see. */
  readonly hidden: readonly string[];
}

export interface OwnSkill extends Skill {
  readonly enabled: boolean;
}

export interface SkillsOfFolder extends Pick<Found, 'errors'> {
  readonly skills: readonly OwnSkill[];
}

/** Who asks: the operator's roots hold whoever is not local. */
export interface Viewer {
  readonly isLocal: boolean;
}

export class Skills {
  readonly #places: SkillPlaces;
  /** Set by clients, until the server ends. */
  extraRoots: readonly string[] = [];

  constructor(places: SkillPlaces) {
    this.#places = places;
  }

  /** Those of the user and the administrator, real or not. */
  get commonRoots(): readonly string[] {
    const { dataDirectory, home, systemFolder } = this.#places;
    return [join(dataDirectory, 'skills'), join(home, '.agents', 'skills'), systemFolder];
  }

  /** The nearest first; without a folder only those that belong to none. */
  async roots(folder: string | undefined, viewer: Viewer): Promise<readonly SkillRoot[]> {
    const { hidden, config } = this.#places;
    const state = await config.state();
    const remoteRoots = state.config.remote.roots;
    // Nothing is shown where it cannot be told.
    const denies = viewer.isLocal ? undefined : await denialsOf(state.config).catch(() => () => true);
    const covers = await Promise.all(hidden.map((path) => realPathOf(path).catch(() => path)));
    const isShown = (real: string) => !covers.some((cover) => isInside(real, cover));
    const isDenied = async (real: string, foundAt: string) =>
      denies !== undefined && (denies(real) || (await isDeniedWay(foundAt, denies, 'target')));
    const open = async (real: string, foundAt: string) =>
      isShown(real) && (viewer.isLocal || ((await isBelow(real, remoteRoots)) && !(await isDenied(real, foundAt))));
    // The user's own folder may lie in what is hidden, and lead wherever the user wants.
    const own = viewer.isLocal ? async () => true : open;
    const [data, ofUser, ofSystem] = this.commonRoots;
    const folders = folder === undefined ? [] : await foldersUpFrom(folder);
    return [
      ...folders.map((each) => ({ path: join(each, '.agents', 'skills'), scope: 'repo' as const, mayRead: open })),
      { path: data ?? '', scope: 'user', mayRead: own },
      { path: ofUser ?? '', scope: 'user', mayRead: own },
      ...this.extraRoots.map((path) => ({ path, scope: 'user' as const, mayRead: open })),
      { path: ofSystem ?? '', scope: 'admin', mayRead: open },
    ];
  }

  /** Looks anew each time. Never rejects for what lies there. */
  async of(folder: string | undefined, viewer: Viewer): Promise<SkillsOfFolder> {
    const { skills, errors } = await findSkills(await this.roots(folder, viewer));
    const { config } = await this.#places.config.state();
    return { skills: skills.map((skill) => ({ ...skill, enabled: isEnabled(config, skill) })), errors };
  }

  /** The input with the words of the skills that it names; undefined: it names none. */
  async shown(
    input: readonly UserInput[],
    folder: string | undefined,
    viewer: Viewer,
  ): Promise<readonly UserInput[] | undefined> {
    if (!mentionsSkills(input)) return undefined;
    return withSkills(input, (await this.of(folder, viewer)).skills);
  }
}

/** From `cwd` up to the root of its repository; `cwd` alone where there is none. */
async function foldersUpFrom(cwd: string): Promise<string[]> {
  const folders: string[] = [];
  for (let at = cwd; ; at = dirname(at)) {
    folders.push(at);
    const isRoot = await lstat(join(at, '.git')).then(
      () => true,
      () => false,
    );
    if (isRoot) return folders;
    if (at === dirname(at)) return [cwd];
  }
}
