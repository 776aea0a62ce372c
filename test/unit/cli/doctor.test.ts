// What the doctor says of the administrator's requirements: what keeps a server from starting is found.

import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { requirementsOf } from '../../../src/cli/doctor-work.ts';

let file: string;
beforeEach(async () => {
  file = join(await realpath(await mkdtemp(join(tmpdir(), 'heddle-doctor-'))), 'requirements.toml');
});
afterEach(async () => {
  await rm(join(file, '..'), { recursive: true, force: true });
});

const read = () => requirementsOf(file, process.getuid?.());

it('says nothing where nothing is required', async () => {
  expect(await read()).toEqual({ requirements: undefined, findings: [] });
});

it('takes what is required', async () => {
  await writeFile(file, 'allowed_sandbox_modes = ["read-only"]\n', { mode: 0o644 });
  expect(await read()).toMatchObject({
    requirements: { sandboxModes: ['read-only'] },
    findings: [{ state: 'good' }],
  });
});

it.each([
  ['a name that is not known', 'no_such_key = 1\n', 0o644],
  ['a file that others may write', '', 0o666],
])('finds %s', async (_name, text, mode) => {
  await writeFile(file, text);
  await chmod(file, mode);
  expect(await read()).toMatchObject({ findings: [{ state: 'bad', about: 'requirements' }] });
});
