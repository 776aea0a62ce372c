// Texts from outside that are nested without end: refused with their place, never read to the end of the stack.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { flagsLayer, readYaml } from '../../../src/config/layers.ts';
import { createConfigSource, withOverrides } from '../../../src/config/load.ts';
import { projectFileOf, projectLayer } from '../../../src/config/project-layer.ts';
import { readSkill } from '../../../src/skills/skill-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'deep-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MANY = 50_000;
const TEXTS: readonly (readonly [string, string])[] = [
  ['lists that stay open', `a: ${'['.repeat(MANY)}`],
  ['lists that are closed', `a: ${'['.repeat(MANY)}${']'.repeat(MANY)}`],
  ['maps', `a: ${'{b: '.repeat(MANY)}`],
  ['list items on one line', `a:\n  ${'- '.repeat(MANY)}x`],
  ['keys with marks', `${'? '.repeat(MANY)}x`],
  ['indentation', Array.from({ length: 2_000 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')],
];

describe('YAML', () => {
  test.each(TEXTS)('of %s is refused with its place', async (_, text) => {
    const read = await readYaml(`# fine\n${text}`, 'config.yaml');
    expect(read).toMatchObject({
      problem: { message: 'settings are nested too deeply', place: { file: 'config.yaml' } },
    });
    const { line, column } = 'problem' in read ? read.problem.place! : { line: 0, column: 0 };
    expect(line).toBeGreaterThan(1);
    expect(column).toBeGreaterThan(50);
  });

  test('with long lines and many brackets is read where it is not deep', async () => {
    const list = Array.from({ length: 500 }, (_, at) => `{ "a": [${at}] }`).join(', ');
    expect(await readYaml(`a: [${list}]\nb: "${'[{'.repeat(500)}" # ${'{'.repeat(500)}\n`, 'f')).toMatchObject({
      table: { b: '[{'.repeat(500) },
    });
  });

  test('in a file of settings is a problem, and nothing is written into it', async () => {
    const home = join(folder, 'home');
    mkdirSync(home);
    writeFileSync(join(home, 'config.yaml'), TEXTS[0]![1]);
    const source = createConfigSource({ dataDirectory: home });
    await expect(source.load()).rejects.toThrow(/config\.yaml:1:\d+: settings are nested too deeply/);
    const edit = { path: ['model'], value: 'x', mergeStrategy: 'replace' } as const;
    await expect(source.editor.write([edit])).rejects.toThrow(/config\.yaml:1:\d+: settings are nested too deeply/);
  });

  test('in a skill is an error of the skill', async () => {
    const file = join(folder, 'SKILL.md');
    writeFileSync(file, `---\nname: ${'['.repeat(4_000)}\n---\nwords\n`);
    await expect(readSkill(file, 'deep')).rejects.toThrow('nested too deeply');
  });
});

describe('TOML', () => {
  test.each([
    ['lists', `a = ${'['.repeat(MANY)}`, 'nested'],
    ['dotted keys', `model = "x"\na${'.a'.repeat(MANY)} = 1`, 'nested too deeply'],
    ['dotted tables', `model = "x"\n[a${'.a'.repeat(MANY)}]\nb = 1`, 'nested too deeply'],
  ])('of %s in a project is refused with its line', async (name, text, message) => {
    const project = join(folder, name);
    mkdirSync(join(project, '.heddle'), { recursive: true });
    writeFileSync(join(project, '.heddle', 'config.toml'), text);
    const found = projectFileOf(project, folder)!;
    const { outcome } = await projectLayer(found, true);
    expect(outcome).toMatchObject({
      problem: { message: expect.stringContaining(message), place: { line: name === 'lists' ? 1 : 2 } },
    });
  });

  test('in a flag is refused', () => {
    expect(() => flagsLayer([`a${'.a'.repeat(MANY)}=1`])).toThrow('nested too deeply');
  });
});

test('JSON in the overrides of a thread is refused', async () => {
  const { config } = await createConfigSource({ dataDirectory: join(folder, 'none') }).state();
  const deep = JSON.parse(`{"a":${'['.repeat(MANY)}${']'.repeat(MANY)}}`);
  expect(() => withOverrides(config, deep)).toThrow('nested too deeply');
});
