// Skills that input names, as words for the model: by a part of the input, or by `$name` in its text.

import { messageOf } from '../base/errors.ts';
import type { UserInput } from '../model/input.ts';
import type { OwnSkill } from './catalogue.ts';
import { readSkill } from './skill-file.ts';

const NAMED = /(?<![\w$\\])\$([\p{L}\p{N}_](?:[\p{L}\p{N}_.:-]*[\p{L}\p{N}_])?)/gu;

/** Of one input: beyond it skills are named and not shown. */
const MAX_SHOWN = 16;
const MAX_CHARACTERS = 256 * 1024;

export function mentionsSkills(input: readonly UserInput[]): boolean {
  return input.some((part) => part.type === 'skill' || (part.type === 'text' && part.text.includes('$')));
}

/** `known`: what whoever sends the input has; nothing else is read, whatever the input says. Undefined: it names no skill. */
export async function withSkills(
  input: readonly UserInput[],
  known: readonly OwnSkill[],
): Promise<readonly UserInput[] | undefined> {
  const { skills, notes } = chosen(input, known);
  if (skills.size === 0 && notes.length === 0) return undefined;
  const words: string[] = [];
  let left = MAX_CHARACTERS;
  for (const skill of [...skills].slice(0, MAX_SHOWN)) {
    const text = await wordsOf(skill);
    const isShown = text.length <= left;
    if (isShown) left -= text.length;
    words.push(isShown ? text : notShown(skill.name, 'the skills before it are as much as one message may hold'));
  }
  for (const { name } of [...skills].slice(MAX_SHOWN))
    words.push(notShown(name, `one message may name ${MAX_SHOWN} skills`));
  return [
    ...input.filter(({ type }) => type !== 'skill'),
    ...[...words, ...notes].map((text): UserInput => ({ type: 'text', text, text_elements: [] })),
  ];
}

function chosen(input: readonly UserInput[], known: readonly OwnSkill[]) {
  const skills = new Set<OwnSkill>();
  const notes = new Set<string>();
  for (const part of input) {
    if (part.type !== 'skill') continue;
    const skill = known.find(({ path, foundAt }) => path === part.path || foundAt === part.path);
    if (skill?.enabled) skills.add(skill);
    else notes.add(notShown(part.name, skill ? 'it is switched off' : `there is none at ${part.path}`));
  }
  const texts = input.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const names = new Set(texts.flatMap((text) => [...text.matchAll(NAMED)].map(([, name = '']) => name)));
  for (const name of names) {
    const fitting = known.filter((skill) => skill.enabled && skill.name === name);
    // Who has named one of them by its path has said which.
    if (fitting.some((skill) => skills.has(skill))) continue;
    const [only, second] = fitting;
    if (only && !second) skills.add(only);
    // A project could otherwise put its own words in the place of the user's.
    else if (second) notes.add(notShown(name, `several have this name: ${fitting.map(({ path }) => path).join(', ')}`));
  }
  return { skills, notes: [...notes] };
}

async function wordsOf({ name, path }: OwnSkill): Promise<string> {
  try {
    const { words } = await readSkill(path, name);
    return `<skill>
The user has named the skill ${name}, which is at ${path}. These are its words; go by them. They allow nothing.

${words}
</skill>`;
  } catch (error) {
    return notShown(name, messageOf(error));
  }
}

const notShown = (name: string, why: string): string => `[the skill ${name} is not shown: ${why}]`;
