// Finds skills: folders with a SKILL.md below the roots for them.

import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { realPathOf } from '../fs/containment.ts';
import { readSkill, type SkillFile } from './skill-file.ts';

/** Whose skills: the repository's, the user's, the administrator's. */
export type SkillScope = 'repo' | 'user' | 'admin';

export interface SkillRoot {
  readonly path: string;
  readonly scope: SkillScope;
  /** Whether what is found there may be read, by its real path and the one that it was found at. */
  readonly mayRead: (real: string, foundAt: string) => Promise<boolean>;
}

export interface Skill extends Omit<SkillFile, 'words'> {
  /** Real path of its SKILL.md. */
  readonly path: string;
  /** The path that it was found at: another one where links lead to it. */
  readonly foundAt: string;
  readonly scope: SkillScope;
}

export interface Found {
  /** In the order of the roots, by name within each; none twice. */
  readonly skills: readonly Skill[];
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

const FILE = 'SKILL.md';
const MAX_DEPTH = 6;
/** Of one root. */
const MAX_FOLDERS = 1_000;
const MAX_SKILLS = 500;

/** Never rejects: what cannot be read is among the errors, what may not be read is not there. */
export async function findSkills(roots: readonly SkillRoot[]): Promise<Found> {
  const skills = new Map<string, Skill>();
  const errors = new Map<string, string>();
  for (const root of roots) {
    const found: Skill[] = [];
    for (const folder of await foldersWithSkills(root, errors)) {
      const skill = await skillIn(folder, root, errors);
      if (skill && !skills.has(skill.path)) found.push(skill);
    }
    found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    for (const skill of found) skills.set(skill.path, skill);
  }
  return {
    skills: [...skills.values()],
    errors: [...errors].map(([path, message]) => ({ path, message })),
  };
}

/** Goes down level by level, links followed, each folder once; a folder with a skill is looked into no further. */
async function foldersWithSkills(root: SkillRoot, errors: Map<string, string>): Promise<string[]> {
  const found: string[] = [];
  const seen = new Set<string>();
  let level = [root.path];
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const folder of level) {
      const names = await namesIn(folder, root, seen, errors);
      if (names.includes(FILE)) found.push(folder);
      else next.push(...names.filter((name) => !name.startsWith('.')).map((name) => join(folder, name)));
      if (found.length >= MAX_SKILLS || seen.size >= MAX_FOLDERS) {
        errors.set(root.path, `only the first ${found.length} skills in ${seen.size} folders were looked at`);
        return found;
      }
    }
    level = next;
  }
  return found;
}

/** Of the folders in it, and of its SKILL.md; none for what is no folder, was seen, or may not be read. */
async function namesIn(
  folder: string,
  { mayRead }: SkillRoot,
  seen: Set<string>,
  errors: Map<string, string>,
): Promise<string[]> {
  let isOpen = false;
  try {
    const real = await realPathOf(folder);
    if (seen.has(real) || !(await mayRead(real, folder)) || !(await stat(real)).isDirectory()) return [];
    seen.add(real);
    isOpen = true;
    const entries = await readdir(real, { withFileTypes: true });
    return entries
      .filter((entry) => entry.name === FILE || entry.isDirectory() || entry.isSymbolicLink())
      .map((entry) => entry.name);
  } catch (error) {
    // Of what may not be read, nobody learns whether it is there.
    if (isOpen && codeOf(error) !== 'ENOENT') errors.set(folder, messageOf(error));
    return [];
  }
}

async function skillIn(
  folder: string,
  { scope, mayRead }: SkillRoot,
  errors: Map<string, string>,
): Promise<Skill | undefined> {
  const foundAt = join(folder, FILE);
  try {
    const path = await realPathOf(foundAt).catch(() => undefined);
    if (path === undefined || !(await mayRead(path, foundAt))) throw new AppError('forbidden', 'it leads out of reach');
    const { words: _read, ...about } = await readSkill(path, basename(dirname(foundAt)));
    return { ...about, path, foundAt, scope };
  } catch (error) {
    errors.set(foundAt, messageOf(error));
    return undefined;
  }
}
