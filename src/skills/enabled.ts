// Which skills count: all but those that the settings switch off, by name or by path.

import type { Config } from '../config/schema.ts';
import { isTable, type Table } from '../config/tables.ts';
import type { Skill } from './discovery.ts';

export type SkillSelector = { readonly path: string } | { readonly name: string };

type Entries = Config['skills']['config'];

/** The last entry that fits decides. */
export function isEnabled(
  { skills }: Pick<Config, 'skills'>,
  skill: Pick<Skill, 'name' | 'path' | 'foundAt'>,
): boolean {
  const fits = ({ name, path }: Entries[number]) =>
    path === undefined ? name === skill.name : path === skill.path || path === skill.foundAt;
  return skills.config.findLast(fits)?.enabled ?? true;
}

/** The entries with one for the selector at their end, in place of an earlier one. */
export function withEntry(before: Entries, selector: SkillSelector, enabled: boolean): Entries {
  const isOther = (entry: Entries[number]) =>
    'path' in selector ? entry.path !== selector.path : entry.path !== undefined || entry.name !== selector.name;
  return [...before.filter(isOther), { ...selector, enabled }];
}

/** What the entries say of a selector alone. */
export function effectiveOf({ skills }: Pick<Config, 'skills'>, selector: SkillSelector): boolean {
  const fits = (entry: Entries[number]) =>
    'path' in selector ? entry.path === selector.path : entry.path === undefined && entry.name === selector.name;
  return skills.config.findLast(fits)?.enabled ?? true;
}

/** The entries of one layer, which has been checked. */
export function configuredEntries(settings: Table | undefined): Entries {
  const skills = settings?.skills;
  return isTable(skills) && Array.isArray(skills.config) ? (skills.config as Entries) : [];
}
