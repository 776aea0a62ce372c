// Writing the protocol down in one of its forms.

import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AppError, messageOf } from '../base/errors.ts';
import { VERSION } from './environment.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type Description, describeProtocol } from './schemas/description.ts';
import { jsonFiles } from './schemas/json.ts';
import { openRpcDocument } from './schemas/openrpc.ts';
import { typescriptText } from './schemas/typescript.ts';

export type SchemaForm = 'json' | 'ts' | 'openrpc';

export interface SchemaChoice {
  /** Made where there is none; other files in it stay. */
  readonly folder: string;
  readonly isExperimental: boolean;
}

/** The same protocol gives the same bytes. Each file is there whole or not at all. Rejects as *unavailable* when it cannot be written. */
export async function writeSchema(form: SchemaForm, { folder, isExperimental }: SchemaChoice): Promise<ExitCode> {
  const place = resolve(folder);
  const files = filesOf(form, describeProtocol({ isExperimental }));
  try {
    await mkdir(place, { recursive: true });
    for (const [name, text] of files) await replaceFile(join(place, name), text);
  } catch (error) {
    throw new AppError('unavailable', `cannot write to ${place}: ${messageOf(error)}`);
  }
  process.stdout.write([...files.keys()].map((name) => `${join(place, name)}\n`).join(''));
  return EXIT.done;
}

/** Texts by the names of their files. */
function filesOf(form: SchemaForm, description: Description): ReadonlyMap<string, string> {
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  switch (form) {
    case 'json':
      return new Map([...jsonFiles(description)].map(([name, value]) => [name, json(value)]));
    case 'ts':
      return new Map([['protocol.ts', typescriptText(description)]]);
    case 'openrpc':
      return new Map([['openrpc.json', json(openRpcDocument(description, VERSION))]]);
  }
}

async function replaceFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, text, { flag: 'wx' });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
