// Which skills an input names, and what the model is shown of them.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { UserInput } from '../../../src/model/input.ts';
import type { OwnSkill } from '../../../src/skills/catalogue.ts';
import { mentionsSkills, withSkills } from '../../../src/skills/mentions.ts';
import { cleanUp, temporaryFolder } from '../../harness/start-app.ts';

afterEach(cleanUp);

const text = (words: string): UserInput => ({ type: 'text', text: words, text_elements: [] });

async function skill(name: string, words = `Words of ${name}.`, more: Partial<OwnSkill> = {}): Promise<OwnSkill> {
  const folder = join(await temporaryFolder(), name);
  await mkdir(folder);
  const path = join(folder, 'SKILL.md');
  await writeFile(path, `---\nname: ${name}\ndescription: d\n---\n${words}\n`);
  const about = { name, description: 'd', shortDescription: undefined, scope: 'user' as const };
  return { ...about, path, foundAt: path, enabled: true, ...more };
}

async function shown(input: readonly UserInput[], known: readonly OwnSkill[]): Promise<string[] | undefined> {
  const parts = await withSkills(input, known);
  return parts?.map((part) => (part.type === 'text' ? part.text : part.type));
}

test.each([
  ['use $demo', true],
  ['use $demo, please.', true],
  ['($demo)', true],
  ['$demo.', true],
  ['cost is 5$demo', false],
  ['\\$demo', false],
  ['$$demo', false],
  ['$demonstration', false],
  ['$HOME', false],
  ['demo', false],
])('by name in the text: %s', async (words, isNamed) => {
  const parts = await shown([text(words)], [await skill('demo')]);
  expect(parts?.[0]).toBe(isNamed ? words : undefined);
  expect(parts?.[1]?.includes('Words of demo.') ?? false).toBe(isNamed);
});

test('a part stands for the skill at its path, once, and for nothing else', async () => {
  const demo = await skill('demo');
  const part = { type: 'skill', name: 'demo', path: demo.path } as const;
  expect(await shown([text('$demo'), part, part], [demo])).toEqual([
    '$demo',
    expect.stringContaining('Words of demo.'),
  ]);
  const [note] = (await shown([{ ...part, path: '/etc/passwd' }], [demo])) ?? [];
  expect(note).toBe('[the skill demo is not shown: there is none at /etc/passwd]');
  const [off] = (await shown([part], [{ ...demo, enabled: false }])) ?? [];
  expect(off).toBe('[the skill demo is not shown: it is switched off]');
  expect(await shown([text('$demo')], [{ ...demo, enabled: false }])).toBeUndefined();
});

test('a name that several have names none, unless a part says which', async () => {
  const [one, two] = [await skill('demo', 'First.'), await skill('demo', 'Second.')];
  const parts = await shown([text('$demo')], [one, two]);
  expect(parts?.join()).toContain(`several have this name: ${one.path}, ${two.path}`);
  expect(parts?.join()).not.toMatch(/First|Second/);
  const chosen = await shown([text('$demo'), { type: 'skill', name: 'demo', path: two.path }], [one, two]);
  expect(chosen?.join()).toMatch(/Second/);
  expect(chosen?.join()).not.toMatch(/First|several/);
});

test('what is too much is named and not shown', async () => {
  const large = await Promise.all(['a', 'b', 'c', 'd'].map((name) => skill(name, name.repeat(100_000))));
  const parts = await shown([text('$a $b $c $d')], large);
  expect(parts?.map((part) => part.startsWith('<skill>'))).toEqual([false, true, true, false, false]);
  const many = await Promise.all(Array.from({ length: 20 }, (_, at) => skill(`s${at}`)));
  const named = await shown([text(many.map(({ name }) => `$${name}`).join(' '))], many);
  expect(named?.filter((part) => part.startsWith('<skill>'))).toHaveLength(16);
  expect(named).toHaveLength(21);
});

test('input without a dollar or a part is not looked at', () => {
  expect(mentionsSkills([text('demo')])).toBe(false);
  expect(mentionsSkills([text('$demo')])).toBe(true);
  expect(mentionsSkills([{ type: 'skill', name: 'demo', path: '/x' }])).toBe(true);
});
