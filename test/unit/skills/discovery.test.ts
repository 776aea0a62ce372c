// What counts as a skill, what is wrong with those that do not, and what is never looked at.

import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findSkills, type SkillRoot } from '../../../src/skills/discovery.ts';
import { MAX_SKILL_BYTES } from '../../../src/skills/skill-file.ts';
import { cleanUp, temporaryFolder } from '../../harness/start-app.ts';

afterEach(cleanUp);

const skill = (front: string, words = 'Do it.') => `---\n${front}\n---\n${words}\n`;

async function root(files: Readonly<Record<string, string>>, more: Partial<SkillRoot> = {}): Promise<SkillRoot> {
  const path = await temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), content);
  }
  return { path, scope: 'user', mayRead: async () => true, ...more };
}

test('skills by root and name, with what their front matter says', async () => {
  const first = await root({ 'b/SKILL.md': skill('name: zeta\ndescription: |\n  two\n  lines') }, { scope: 'repo' });
  const second = await root({
    'deep/er/SKILL.md': skill('description: no name\nmetadata:\n  short-description: short'),
    'a/SKILL.md': '\uFEFF---\r\nname: "alpha"\r\ndescription: windows\r\n---\r\nDo it.',
    'a/inner/SKILL.md': skill('name: inner\ndescription: below a skill'),
    '.hidden/SKILL.md': skill('name: hidden\ndescription: not meant'),
  });
  const { skills, errors } = await findSkills([first, second, { ...second, path: join(second.path, 'absent') }]);
  expect(errors).toEqual([]);
  expect(skills).toMatchObject([
    { name: 'zeta', description: 'two lines', scope: 'repo', path: join(first.path, 'b/SKILL.md') },
    { name: 'alpha', description: 'windows', scope: 'user' },
    { name: 'er', description: 'no name', shortDescription: 'short', path: join(second.path, 'deep/er/SKILL.md') },
  ]);
});

test.each([
  ['no front matter', 'missing YAML frontmatter delimited by ---'],
  ['---\nname: x\n', 'missing YAML frontmatter delimited by ---'],
  ['---\n---\n', 'missing field `description`'],
  [skill('name: [x\ndescription: y'), 'invalid YAML'],
  [skill('name: x'), 'missing field `description`'],
  [skill('name: 7\ndescription: y'), 'invalid name: expected text'],
  [skill(`name: ${'n'.repeat(65)}\ndescription: y`), 'invalid name: exceeds maximum length of 64'],
  [skill(`description: ${'d'.repeat(1025)}`), 'invalid description: exceeds maximum length of 1024'],
  [skill('name: x\ndescription: y', 'w'.repeat(MAX_SKILL_BYTES)), 'more than'],
  [skill(Array.from({ length: 20_000 }, (_, at) => `${at.toString(36)}:`).join('\n')), 'more than 8192 characters'],
])('a broken one is listed with its error: %#', async (content, message) => {
  const place = await root({ 'x/SKILL.md': content, 'good/SKILL.md': skill('description: fine') });
  const { skills, errors } = await findSkills([place]);
  expect(skills).toMatchObject([{ name: 'good' }]);
  expect(errors).toEqual([{ path: join(place.path, 'x/SKILL.md'), message: expect.stringContaining(message) }]);
});

test('bytes that are no text, and a folder in the place of the file, are errors', async () => {
  const place = await root({ 'dir/SKILL.md/x': 'x' });
  await mkdir(join(place.path, 'bytes'));
  await writeFile(join(place.path, 'bytes/SKILL.md'), Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff]));
  const { errors } = await findSkills([place]);
  expect(errors.map(({ path }) => path).toSorted()).toEqual(
    ['bytes/SKILL.md', 'dir/SKILL.md'].map((name) => join(place.path, name)),
  );
});

test('of what may not be read nobody learns whether it can be resolved', async () => {
  const place = await root({ 'x/y': '', 'z/y': '' });
  await symlink('loop', join(place.path, 'loop'));
  await symlink('SKILL.md', join(place.path, 'x/SKILL.md'));
  await symlink('/absent/SKILL.md', join(place.path, 'z/SKILL.md'));
  const { errors } = await findSkills([{ ...place, mayRead: async (real) => real.startsWith(place.path) }]);
  const message = 'it leads out of reach';
  expect(errors).toEqual(['x', 'z'].map((name) => ({ path: join(place.path, name, 'SKILL.md'), message })));
});

test('links are followed once, and never to what may not be read', async () => {
  const outside = await root({ 'secret/SKILL.md': skill('name: secret\ndescription: not yours') });
  const place = await root({ 'a/SKILL.md': skill('name: own\ndescription: here'), 'c/x': '' });
  await symlink(place.path, join(place.path, 'b'));
  await symlink(join(place.path, 'a'), join(place.path, 'again'));
  await symlink(outside.path, join(place.path, 'out'));
  await symlink(join(outside.path, 'secret/SKILL.md'), join(place.path, 'c/SKILL.md'));
  const mayRead = async (real: string) => !real.startsWith(outside.path);
  const held = await findSkills([{ ...place, mayRead }]);
  expect(held.skills.map(({ name }) => name)).toEqual(['own']);
  expect(held.errors).toEqual([{ path: join(place.path, 'c/SKILL.md'), message: 'it leads out of reach' }]);
  const free = await findSkills([place]);
  expect(free.skills.map(({ name }) => name)).toEqual(['own', 'secret']);
});
