// Settings of a server that was named: read as it has them, and written into its file.

import { configRead, configValueWrite } from '../config/methods.ts';
import type { ParamsInput } from '../rpc/declare.ts';
import { printValue, tellOfUnknown, typedValue } from './config-work.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type ServerChoice, withServer } from './running-server.ts';
import { visible } from './terminal.ts';

/** `folder`: one of the server's machine; undefined: as threads in no particular folder have it. */
export function printRemoteSetting(
  choice: ServerChoice,
  { key, folder }: { readonly key: string | undefined; readonly folder: string | undefined },
): Promise<ExitCode> {
  return withServer(choice, async (client) => {
    const { config } = await client.request(configRead, folder === undefined ? {} : { cwd: folder });
    return printValue(config, key);
  });
}

/** `value` undefined takes the setting out. Rejects as the server does, such as *forbidden*. */
export function writeRemoteSetting(
  choice: ServerChoice,
  { key, value }: { readonly key: string; readonly value: string | undefined },
): Promise<ExitCode> {
  return withServer(choice, async (client) => {
    const edit = {
      keyPath: key,
      value: typedValue(value) as ParamsInput<typeof configValueWrite>['value'],
      mergeStrategy: 'replace',
    } as const;
    const { overriddenMetadata } = await client.request(configValueWrite, edit);
    if (overriddenMetadata) process.stderr.write(`heddle: ${visible(overriddenMetadata.message)}\n`);
    tellOfUnknown(key, value);
    return EXIT.done;
  });
}
