// heddle config: what is configured, and changing it in the file without touching the rest of the file.

import type { AddCommand } from './commands.ts';
import { dataDirectoryOf } from './environment.ts';
import { checkDoor } from './exec-door.ts';
import type { ExitCode } from './exit-codes.ts';
import { choiceOf, SERVER_CHOICE, type ServerChoice } from './running-server.ts';
import { argument, configOption, needed, single, text } from './typed.ts';

const KEY = 'Dots go deeper; a part with dots in it stands in double quotes';
const common = {
  ...SERVER_CHOICE,
  remote: text('The server that is meant: unix:///PATH, ws://HOST:PORT or wss://HOST; default: the file here'),
} as const;

export const configCommand: AddCommand = (cli, outcome) => {
  cli.command('config', 'Read and change the configuration', (yargs) =>
    yargs
      .usage('$0 config <command>')
      .command(
        'get [key]',
        'Print what a setting is, from file, project, flags and requirements; secrets are masked',
        (inner) =>
          inner.positional('key', argument(KEY, 'setting')).options({
            ...common,
            cd: { ...text('As threads in this folder have it; default: this folder', 'folder'), alias: 'C' },
            config: configOption,
          }),
        async (args) => {
          const choice = choiceOf(args);
          checkDoor({ ...choice, backend: undefined, config: args.config ?? [] });
          if (choice.remote !== undefined) {
            const { printRemoteSetting } = await import('./config-remote.ts');
            outcome.code = await printRemoteSetting(choice, { key: args.key, folder: single('--cd', args.cd) });
            return;
          }
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
            .positional('key', needed(KEY, 'setting'))
            .positional('value', {
              type: 'string',
              demandOption: true,
              describe: 'Such as high, 30, true, \'["/srv"]\'',
            })
            .options(common),
        async (args) => {
          outcome.code = await write(choiceOf(args), args.key, args.value);
        },
      )
      .command(
        'unset <key>',
        'Take a setting out of the file',
        (inner) => inner.positional('key', needed(KEY, 'setting')).options(common),
        async (args) => {
          outcome.code = await write(choiceOf(args), args.key, undefined);
        },
      )
      .epilogue('A running server reads the file again by itself; threads that are loaded keep what they started with.')
      .demandCommand(1, 'say what to do: `heddle config get`, `config set KEY VALUE` or `config unset KEY`'),
  );
};

async function write(choice: ServerChoice, key: string, value: string | undefined): Promise<ExitCode> {
  checkDoor({ ...choice, backend: undefined, config: [] });
  if (choice.remote !== undefined) {
    const { writeRemoteSetting } = await import('./config-remote.ts');
    return writeRemoteSetting(choice, { key, value });
  }
  const { writeSetting } = await import('./config-work.ts');
  return writeSetting({ dataDirectory: dataDirectoryOf(choice.dataDir), key, value });
}
