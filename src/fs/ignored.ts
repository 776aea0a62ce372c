// Which folders ignore files name: rules of each level, the nearest first, from the top of the repository down.

import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { readWholeFile } from './text-file.ts';

const FILES = ['.gitignore', '.ignore'];
const REPOSITORY = '.git';

export const isIgnoreFile = (name: string): boolean => FILES.includes(name);

export class Ignored {
  readonly #levels = new Map<string, Promise<Ignore | undefined>>();
  readonly #top: string;

  private constructor(top: string) {
    this.#top = top;
  }

  /** Rules for what is below this folder; those above it count up to the top of its repository. */
  static async below(folder: string): Promise<Ignored> {
    for (let at = folder; ; at = dirname(at)) {
      const isTop = await stat(join(at, REPOSITORY)).then(
        () => true,
        () => false,
      );
      if (isTop) return new Ignored(at);
      if (dirname(at) === at) return new Ignored(folder);
    }
  }

  /** Whether a folder is to be left alone. */
  async has(folder: string): Promise<boolean> {
    if (basename(folder) === REPOSITORY) return true;
    for (let level = dirname(folder); ; level = dirname(level)) {
      const rules = await this.#rulesOf(level);
      const verdict = rules?.test(`${relative(level, folder)}/`);
      if (verdict?.ignored) return true;
      if (verdict?.unignored || level === this.#top || dirname(level) === level) return false;
    }
  }

  #rulesOf(level: string): Promise<Ignore | undefined> {
    let rules = this.#levels.get(level);
    if (!rules) {
      rules = rulesIn(level);
      this.#levels.set(level, rules);
    }
    return rules;
  }
}

/** What is said in more bytes counts for nothing, and neither does what is no file. */
const MAX_BYTES = 4 * 1024 * 1024;

/** By a link as well. A named pipe would keep who reads it waiting. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return (await readWholeFile(await realpath(path), MAX_BYTES))?.content.toString('utf8');
  } catch {
    return undefined;
  }
}

async function rulesIn(level: string): Promise<Ignore | undefined> {
  const texts = await Promise.all(FILES.map((name) => textOf(join(level, name))));
  const given = texts.filter((text) => text !== undefined);
  return given.length === 0 ? undefined : ignore({ allowRelativePaths: true }).add(given.join('\n'));
}
