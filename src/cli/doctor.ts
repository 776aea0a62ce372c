// heddle doctor: whether everything is there that turns need.

import type { AddCommand } from './commands.ts';
import { dataDirectoryOf } from './environment.ts';
import { choiceOf, SERVER_CHOICE } from './running-server.ts';
import { configOption, single, text } from './typed.ts';

export const doctorCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'doctor',
    'Look at Node.js, the data directory, the configuration, the sandbox and the model provider; exit code 1 when one of them does not work',
    (yargs) =>
      yargs.options({
        ...SERVER_CHOICE,
        remote: text('Look at this server from here instead: unix:///PATH, ws://HOST:PORT or wss://HOST'),
        config: configOption,
        provider: text('The model provider to try; default the configured one'),
        json: { type: 'boolean', default: false, describe: 'One JSON array' },
      }),
    async (args) => {
      const { doctor } = await import('./doctor-work.ts');
      outcome.code = await doctor({
        dataDirectory: dataDirectoryOf(single('--data-dir', args.dataDir)),
        choice: choiceOf(args),
        flags: args.config ?? [],
        provider: single('--provider', args.provider),
        json: args.json,
      });
    },
  );
};
