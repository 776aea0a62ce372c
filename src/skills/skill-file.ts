// Reads a SKILL.md: what it is called and good for, in YAML between two lines `---`, and the words after that.

import { AppError } from '../base/errors.ts';
import { readYaml } from '../config/layers.ts';
import { readTextFile } from '../fs/text-file.ts';

export interface SkillFile {
  readonly name: string;
  readonly description: string;
  readonly shortDescription: string | undefined;
  /** What follows the front matter, trimmed. */
  readonly words: string;
}

/** A file above it is no instruction for a model. */
export const MAX_SKILL_BYTES = 128 * 1024;
/** Characters of its front matter: reading YAML takes time by the square of its names, in which nobody else is served. */
const MAX_FRONT_MATTER = 8 * 1024;
const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/;

/** `real` is a real path; without a name in the file, `fallbackName` is it. Rejects with what is wrong with the file. */
export async function readSkill(real: string, fallbackName: string): Promise<SkillFile> {
  const file = await readTextFile(real, MAX_SKILL_BYTES);
  if (!file) throw new AppError('notFound', 'the file is gone');
  const match = FRONT_MATTER.exec(file.text);
  if (!match) throw new AppError('invalid', 'missing YAML frontmatter delimited by ---');
  const [, front = ''] = match;
  if (front.length > MAX_FRONT_MATTER)
    throw new AppError('invalid', `YAML frontmatter of more than ${MAX_FRONT_MATTER} characters`);
  const read = await readYaml(front, real);
  if ('problem' in read) throw new AppError('invalid', `invalid YAML: ${read.problem.message}`);
  const { name = fallbackName, description, metadata } = read.table;
  const short = (metadata as { readonly 'short-description'?: unknown } | null | undefined)?.['short-description'];
  return {
    name: oneLine('name', name, MAX_NAME),
    description: oneLine('description', description, MAX_DESCRIPTION),
    shortDescription: short === undefined ? undefined : oneLine('metadata.short-description', short, MAX_DESCRIPTION),
    words: file.text.slice(match[0].length).trim(),
  };
}

function oneLine(field: string, value: unknown, limit: number): string {
  if (value === undefined) throw new AppError('invalid', `missing field \`${field}\``);
  if (typeof value !== 'string') throw new AppError('invalid', `invalid ${field}: expected text`);
  const line = value.replace(/\s+/g, ' ').trim();
  if (line === '') throw new AppError('invalid', `missing field \`${field}\``);
  if (line.length > limit)
    throw new AppError('invalid', `invalid ${field}: exceeds maximum length of ${limit} characters`);
  return line;
}
