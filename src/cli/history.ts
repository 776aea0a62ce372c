// heddle history: proving, moving, saving and mending what is stored.

import type { Argv } from 'yargs';
import type { AddCommand, Outcome } from './commands.ts';
import { dataDirectoryOf } from './environment.ts';
import { dataDirOption, needed, single, text } from './typed.ts';

const common = (yargs: Argv) =>
  yargs.options({
    'data-dir': dataDirOption,
  });

const tenant = { ...text('Whose thread it is'), default: 'local' };

export const historyCommand: AddCommand = (cli, outcome) => {
  cli.command('history', 'Look after the stored history', (yargs) => {
    const all = yargs.usage('$0 history <command>');
    for (const add of [verify, exportOne, importOne, backup, repair, stats, compact, probe]) add(all, outcome);
    return all.demandCommand(1, 'say what to do with the history: `heddle history verify`');
  });
};

type Add = (cli: Argv, outcome: Outcome) => void;

const directoryOf = (args: { readonly dataDir?: string | undefined }) =>
  dataDirectoryOf(single('--data-dir', args.dataDir));

const verify: Add = (cli, outcome) => {
  cli.command(
    'verify',
    'Walk every chain and compare every record with its digest; exit code 1 on damage',
    (yargs) =>
      common(yargs).options({
        thread: text('Only this thread', 'thread'),
        file: text('An exported thread instead of the data directory', 'file'),
        here: { type: 'boolean', hidden: true, describe: 'In this process' },
      }),
    async (args) => {
      const work = await import('./history-work.ts');
      const file = single('--file', args.file);
      const thread = single('--thread', args.thread);
      if (file !== undefined) outcome.code = await work.verifyFile(file);
      else if (args.here) outcome.code = await work.verifyHere(directoryOf(args), thread);
      else outcome.code = await work.verifyApart(directoryOf(args), thread);
    },
  );
};

const exportOne: Add = (cli, outcome) => {
  cli.command(
    'export <thread>',
    'Write a thread, with its long values, as hash-chained JSONL; `verify --file` proves it without a server',
    (yargs) =>
      common(yargs)
        .positional('thread', needed('The thread', 'thread'))
        .options({
          tenant,
          output: { ...text('The file, which must not exist; default standard output', 'file'), alias: 'o' },
        }),
    async (args) => {
      const { exportTo } = await import('./history-work.ts');
      const thread = { tenant: single('--tenant', args.tenant) as string, id: args.thread };
      outcome.code = await exportTo(directoryOf(args), thread, single('--output', args.output));
    },
  );
};

const importOne: Add = (cli, outcome) => {
  cli.command(
    'import <file>',
    'Take in an exported thread; one that is damaged is refused',
    (yargs) =>
      common(yargs)
        .positional('file', needed('The export', 'file'))
        .options({
          tenant,
          salvage: {
            type: 'boolean',
            describe: 'Take what is whole of a damaged one; the rest goes into FILE.damaged',
          },
        }),
    async (args) => {
      const { importFrom } = await import('./history-work.ts');
      const target = { directory: directoryOf(args), tenant: single('--tenant', args.tenant) as string };
      outcome.code = await importFrom(target, args.file, args.salvage === true);
    },
  );
};

const backup: Add = (cli, outcome) => {
  cli.command(
    'backup <directory>',
    'Copy the history into an empty directory; a server may go on meanwhile',
    (yargs) => common(yargs).positional('directory', needed('Where to', 'folder')),
    async (args) => {
      const { backUp } = await import('./history-work.ts');
      outcome.code = await backUp(directoryOf(args), args.directory);
    },
  );
};

const repair: Add = (cli, outcome) => {
  cli.command(
    'repair',
    'Make damaged records whole from a backup; the server must be stopped',
    (yargs) =>
      common(yargs)
        .options({ from: text('The directory that `heddle history backup` made', 'folder') })
        .demandOption('from', 'say what to take from: --from BACKUP'),
    async (args) => {
      const { repairFrom } = await import('./history-work.ts');
      outcome.code = await repairFrom(directoryOf(args), single('--from', args.from) as string);
    },
  );
};

const stats: Add = (cli, outcome) => {
  cli.command(
    'stats',
    'Say how much is stored, and how much space `compact` would give back',
    (yargs) => common(yargs).options({ json: { type: 'boolean', describe: 'One JSON object' } }),
    async (args) => {
      const { showStats } = await import('./history-work.ts');
      outcome.code = await showStats(directoryOf(args), args.json === true);
    },
  );
};

const compact: Add = (cli, outcome) => {
  cli.command(
    'compact',
    'Give back the space of what was deleted, and leave nothing of it; the server must be stopped',
    common,
    async (args) => {
      const { compactNow } = await import('./history-work.ts');
      outcome.code = await compactNow(directoryOf(args));
    },
  );
};

/** Run by a server that starts, in a process of its own. */
const probe: Add = (cli, outcome) => {
  cli.command('probe', false, common, async (args) => {
    const { probeHere } = await import('./history-work.ts');
    outcome.code = await probeHere(directoryOf(args));
  });
};
