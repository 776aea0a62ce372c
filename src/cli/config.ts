// heddle config: what is configured, and changing it in the file without touching the rest of the file.

import type { AddCommand } from './commands.ts';
import { dataDirectoryOf } from './environment.ts';
import { configOption, dataDirOption, single, text } from './typed.ts';

const KEY = 'Dots go deeper; a part with dots in it stands in double quotes';
const common = { 'data-dir': dataDirOption } as const;

export const configCommand: AddCommand = (cli, outcome) => {
  cli.command('config', 'Read and change the configuration', (yargs) =>
    yargs
      .usage('$0 config <command>')
      .command(
        'get [key]',
        'Print what a setting is, from file, project, flags and requirements; secrets are masked',
        (inner) =>
          inner.positional('key', { type: 'string', describe: KEY }).options({
            ...common,
            cd: { ...text('As threads in this folder have it; default: this folder', 'folder'), alias: 'C' },
            config: configOption,
          }),
        async (args) => {
          const { printSetting } = await import('./config-work.ts');
          outcome.code = await printSetting({
            dataDirectory: dataDirectoryOf(single('--data-dir', args.dataDir)),
            key: args.key,
            folder: single('--cd', args.cd) ?? '.',
            flags: args.config ?? [],
          });
        },
      )
      .command(
        'set <key> <value>',
        'Write a setting into the file: TOML, or text where it is no TOML',
        (inner) =>
          inner
            .positional('key', { type: 'string', demandOption: true, describe: KEY })
            .positional('value', {
              type: 'string',
              demandOption: true,
              describe: 'Such as high, 30, true, \'["/srv"]\'',
            })
            .options(common),
        async (args) => {
          const { writeSetting } = await import('./config-work.ts');
          const dataDirectory = dataDirectoryOf(single('--data-dir', args.dataDir));
          outcome.code = await writeSetting({ dataDirectory, key: args.key, value: args.value });
        },
      )
      .command(
        'unset <key>',
        'Take a setting out of the file',
        (inner) => inner.positional('key', { type: 'string', demandOption: true, describe: KEY }).options(common),
        async (args) => {
          const { writeSetting } = await import('./config-work.ts');
          const dataDirectory = dataDirectoryOf(single('--data-dir', args.dataDir));
          outcome.code = await writeSetting({ dataDirectory, key: args.key, value: undefined });
        },
      )
      .epilogue('A running server reads the file again by itself; threads that are loaded keep what they started with.')
      .demandCommand(1, 'say what to do: `heddle config get`, `config set KEY VALUE` or `config unset KEY`'),
  );
};
