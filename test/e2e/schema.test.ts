// What clients confirm the supported set by: the schema that the built executable writes, and what a server of it says and does.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connect } from '../../src/client/local.ts';
import { EXECUTABLE, run, scratch } from './executable.ts';

interface ClientRequest {
  readonly oneOf: readonly { readonly properties: { readonly method: { readonly const: string } } }[];
}

async function schemaOf(...flags: readonly string[]): Promise<readonly string[]> {
  const folder = scratch();
  const written = await run(['schema', 'json', '--out', folder, ...flags]);
  expect(written).toMatchObject({ code: 0, stderr: '' });
  expect(written.stdout).toContain(join(folder, 'ClientRequest.json'));
  const { oneOf } = JSON.parse(readFileSync(join(folder, 'ClientRequest.json'), 'utf8')) as ClientRequest;
  return oneOf.map(({ properties }) => properties.method.const).toSorted();
}

test('the methods of the schema are those that a server of the same executable supports', async () => {
  const env = { PATH: process.env.PATH, HOME: scratch() };
  const args = [EXECUTABLE, 'app-server', '--backend', 'mock'];
  const spawn = { command: process.execPath, args, env, stateDirectory: scratch() };
  const client = await connect({ name: 'e2e', version: '1', spawn });
  const { methods } = await client.request('server/capabilities', {});
  const supported = methods.filter(({ status }) => status !== 'unsupported').map(({ method }) => method);
  await client.close();
  expect(await schemaOf('--experimental')).toEqual(supported.toSorted());
  const stable = methods.filter(({ status, experimental }) => status !== 'unsupported' && !experimental);
  expect(await schemaOf()).toEqual(stable.map(({ method }) => method).toSorted());
});
