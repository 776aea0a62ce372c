// heddle doctor: whether everything is there that turns need.

import type { AddCommand } from './commands.ts';
import { dataDirectoryOf } from './environment.ts';
import { configOption, dataDirOption, single, text } from './typed.ts';

export const doctorCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'doctor',
    'Look at Node.js, the data directory, the configuration, the sandbox and the model provider; exit code 1 when one of them does not work',
    (yargs) =>
      yargs.options({
        'data-dir': dataDirOption,
        config: configOption,
        provider: text('The model provider to try; default the configured one'),
        json: { type: 'boolean', default: false, describe: 'One JSON array' },
      }),
    async (args) => {
      const { doctor } = await import('./doctor-work.ts');
      outcome.code = await doctor({
        dataDirectory: dataDirectoryOf(single('--data-dir', args.dataDir)),
        flags: args.config ?? [],
        provider: single('--provider', args.provider),
        json: args.json,
      });
    },
  );
};
