// heddle threads: what is stored, shown and put in order from a terminal.

import type { Argv } from 'yargs';
import type { AddCommand, Outcome } from './commands.ts';
import { choiceOf, SERVER_CHOICE } from './running-server.ts';
import { needed, single, text, wholeNumber } from './typed.ts';

const json = { type: 'boolean', describe: 'JSON, one object a line, instead of words for people' } as const;

const EPILOGUE = 'Exit codes: 0 done, 1 it could not be done, 2 wrong flags, 4 no server.';

export const threadsCommand: AddCommand = (cli, outcome) => {
  cli.command('threads', 'List, show, export, archive and delete threads', (yargs) => {
    const all = yargs
      .usage(
        '$0 threads <command>\n\nAsks the server that runs on the data directory, or reads the directory itself when none does',
      )
      .epilogue(EPILOGUE);
    for (const add of [list, show, exportOne, archive, unarchive, remove]) add(all, outcome);
    return all.demandCommand(1, 'say what to do with threads: `heddle threads list`');
  });
};

type Add = (cli: Argv, outcome: Outcome) => void;

const ofThread = (yargs: Argv) =>
  yargs.positional('thread', needed('As the list shows it', 'thread')).options(SERVER_CHOICE);

const list: Add = (cli, outcome) => {
  cli.command(
    'list',
    'List threads, the newest first',
    (yargs) =>
      yargs.options({
        ...SERVER_CHOICE,
        search: text('Only those with these words in their name or first message'),
        archived: { type: 'boolean', describe: 'The archived ones instead' },
        limit: { ...text('How many at most'), default: '50' },
        json,
      }),
    async (args) => {
      const { listThreads } = await import('./threads-work.ts');
      outcome.code = await listThreads({
        ...choiceOf(args),
        search: single('--search', args.search),
        isArchived: args.archived === true,
        limit: wholeNumber('--limit', single('--limit', args.limit)) ?? 50,
        json: args.json === true,
      });
    },
  );
};

const show: Add = (cli, outcome) => {
  cli.command(
    'show <thread>',
    'Print what was said and done in a thread',
    (yargs) => ofThread(yargs).options({ json }),
    async (args) => {
      const { showThread } = await import('./threads-work.ts');
      outcome.code = await showThread({ ...choiceOf(args), thread: args.thread, json: args.json === true });
    },
  );
};

const exportOne: Add = (cli, outcome) => {
  cli.command(
    'export <thread>',
    'Write a thread and its events as lines of JSON; `heddle history export` writes what can be proved and taken in again',
    (yargs) =>
      ofThread(yargs).options({
        output: { ...text('The file, which must not exist; default standard output', 'file'), alias: 'o' },
      }),
    async (args) => {
      const { exportThread } = await import('./threads-work.ts');
      const output = single('--output', args.output);
      outcome.code = await exportThread({ ...choiceOf(args), thread: args.thread, output });
    },
  );
};

const archive: Add = (cli, outcome) => {
  cli.command(
    'archive <thread>',
    'Take a thread out of the list; what runs in it is ended first',
    ofThread,
    async (args) => {
      const { archiveThread } = await import('./threads-work.ts');
      outcome.code = await archiveThread({ ...choiceOf(args), thread: args.thread });
    },
  );
};

const unarchive: Add = (cli, outcome) => {
  cli.command('unarchive <thread>', 'Put a thread back into the list', ofThread, async (args) => {
    const { unarchiveThread } = await import('./threads-work.ts');
    outcome.code = await unarchiveThread({ ...choiceOf(args), thread: args.thread });
  });
};

const remove: Add = (cli, outcome) => {
  cli.command(
    'delete <thread>',
    'Delete a thread for good',
    (yargs) =>
      ofThread(yargs).options({
        'dry-run': { type: 'boolean', describe: 'Only list what would go' },
        force: { type: 'boolean', describe: 'Do not ask' },
      }),
    async (args) => {
      const { deleteThread } = await import('./threads-work.ts');
      outcome.code = await deleteThread({
        ...choiceOf(args),
        thread: args.thread,
        isDryRun: args.dryRun === true,
        isForced: args.force === true,
      });
    },
  );
};
