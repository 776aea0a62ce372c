// The files of a configured permission profile, by what commands may do with them.

import { homedir } from 'node:os';
import { isAbsolute, join, normalize, sep } from 'node:path';
import { isPattern, literalOf, matches, type Pattern, readPatterns } from '../sandbox/pattern.ts';
import { isWithin } from '../sandbox/policy.ts';
import type { Access, Profile, Refuse } from './profile-tables.ts';

export interface FileRules {
  readonly named: { readonly root?: Access; readonly tmpdir?: Access; readonly slash_tmp?: Access };
  /** What programs of the system need can be read, also where not everything can. */
  readonly isMinimal: boolean;
  readonly denied: string[];
  readonly readOnly: string[];
  readonly write: string[];
  /** What is denied too. */
  readonly patterns: string[];
}

export interface WorkspaceFiles {
  readonly isReadOnly: boolean;
  readonly isReadable: boolean;
  readonly write: string[];
  readonly read: string[];
  /** Of what is only read that which lies in something that is written. */
  readonly readOnly: string[];
  readonly denied: string[];
  readonly patterns: string[];
}

export function filesOf({ files }: Profile, refuse: Refuse): FileRules {
  const named: Record<string, Access> = {};
  const paths: [string, Access][] = [];
  let isMinimal = false;
  for (const [name, access] of files) {
    if (!name.startsWith(':')) paths.push([absolute(name, refuse), access]);
    else if (name === ':minimal' && access === 'read') isMinimal = true;
    else if ([':root', ':tmpdir', ':slash_tmp'].includes(name) && (access !== 'deny' || name === ':root'))
      named[name.slice(1)] = access;
    else refuse(`\`${name}\` with "${access}"`);
  }
  const sorted = sortedOut(paths, refuse);
  const isAll = (list: readonly string[]) => list.includes('/');
  if (isAll(sorted.denied)) refuse('all of the disk is denied; leave `:root` out instead');
  if (isAll(sorted.read)) named.root ??= 'read';
  if (named.root === undefined && named.tmpdir === 'read') refuse('`:tmpdir` with "read" where `:root` is not');
  return {
    ...{ named, isMinimal, denied: sorted.denied, patterns: sorted.patterns },
    readOnly: sorted.read.filter((path) => path !== '/'),
    write: [...new Set([...(named.root === 'write' ? ['/'] : []), ...sorted.write])],
  };
}

export function workspaceOf(entries: ReadonlyMap<string, Access>, refuse: Refuse): WorkspaceFiles {
  const given = [...entries].map(([path, access]) => [relativePath(path, refuse), access] as const);
  const all = given.find(([path]) => path === '.')?.[1];
  if (all === 'deny') refuse('the workspace itself cannot be denied');
  const { read, write, denied, patterns } = sortedOut(
    given.filter(([path]) => path !== '.'),
    (what) => refuse(`of the workspace, ${what}`),
  );
  const isReadOnly = all !== 'write';
  return {
    ...{ isReadOnly, isReadable: all !== undefined, read, write, denied, patterns },
    // Elsewhere nothing is written anyway.
    readOnly: read.filter((path) => !isReadOnly || write.some((each) => isWithin(path, each))),
  };
}

interface Sorted {
  readonly read: string[];
  readonly write: string[];
  readonly denied: string[];
  readonly patterns: string[];
}

function sortedOut(entries: readonly (readonly [string, Access])[], refuse: Refuse): Sorted {
  const plain = new Map<string, Access>();
  const patterns: string[] = [];
  for (const [path, access] of entries) {
    if (!isPattern(path)) plain.set(literalOf(path), access);
    else if (access === 'deny') patterns.push(path);
    else
      refuse(
        `the pattern \`${path}\` with "${access}": patterns can only be denied; name a path, or all below it by \`/**\``,
      );
  }
  const having = (wanted: Access) => [...plain].filter(([, access]) => access === wanted).map(([path]) => path);
  const [read, write, denied] = [having('read'), having('write'), having('deny')];
  const understood = patterns.flatMap((text) => understoodPattern(text, refuse));
  const uncovered = read.find((path) => denied.some((cover) => isWithin(path, cover)));
  if (uncovered !== undefined) refuse(`\`${uncovered}\` lies in a folder that is denied`);
  for (const path of [...read, ...write]) {
    const pattern = understood.find((each) => matches(each, join('/', path)));
    if (pattern) refuse(`\`${path}\` is denied by the pattern \`${pattern.text}\``);
  }
  return { read, write, denied, patterns };
}

function understoodPattern(text: string, refuse: Refuse): readonly Pattern[] {
  try {
    return readPatterns(text);
  } catch (error) {
    return refuse(`the pattern \`${text}\`: ${(error as Error).message}`);
  }
}

function absolute(path: string, refuse: Refuse): string {
  const isInHome = path === '~' || path.startsWith('~/');
  const home = homedir();
  if (isInHome && (isPattern(home) || (sep === '/' && home.includes('\\'))))
    refuse(`\`${path}\`: the name of the home folder reads like a pattern`);
  const whole = isInHome ? `${home}${path.slice(1)}` : path;
  if (!isAbsolute(whole)) refuse(`\`${path}\` is not an absolute path`);
  return tidy(whole, refuse);
}

function relativePath(path: string, refuse: Refuse): string {
  if (isAbsolute(path) || path === '..' || path.startsWith('../')) refuse(`\`${path}\` does not lie in the workspace`);
  return tidy(path, refuse);
}

/** What is said of all that lies in a folder is said of the folder. */
function tidy(path: string, refuse: Refuse): string {
  if (path.includes('\0')) refuse('a path holds a NUL character');
  // What stands before it may be a pattern, or a link.
  if (literalOf(path).split('/').includes('..')) refuse(`\`${path}\` holds \`..\``);
  if (/(?<!\\)(?:\\\\)*\\(?:\/|$)/.test(path)) refuse(`\`${path}\` holds a \`\\\` at the end of a name`);
  const plain = normalize(path)
    .replace(/(.)\/+$/, '$1')
    .replace(/(\/\*\*)+$/, '');
  if (plain === '**') return '.';
  return plain === '' ? '/' : plain;
}
