// heddle attach: watching what runs in a thread, from any terminal.

import type { AddCommand } from './commands.ts';
import { choiceOf, SERVER_CHOICE } from './running-server.ts';
import { needed, single, text, wholeNumber } from './typed.ts';

const EPILOGUE =
  'Ctrl-C leaves, and the turn goes on. Questions are shown with the command that answers them. ' +
  'Exit codes: 0 the turn completed, 1 it failed, 2 wrong flags, 4 no server, 130 it was interrupted or you left.';

export const attachCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'attach <thread>',
    'Watch the turn that runs in a thread',
    (yargs) =>
      yargs
        .usage(
          '$0 attach THREAD [flags]\n\nShows the running turn from its beginning, and what waits behind it, up to the end; ' +
            'where nothing runs it tells how the last turn ended. The answer goes to standard output, everything else to standard error.',
        )
        .positional('thread', needed('As `heddle threads list` shows it', 'thread'))
        .options({
          ...SERVER_CHOICE,
          follow: { type: 'boolean', alias: 'f', describe: 'Go on watching when nothing runs' },
          after: text('Begin behind this `seq` instead of at the beginning of the turn'),
          json: { type: 'boolean', describe: 'Print each notification and question as a line of JSON, with its `seq`' },
        })
        .epilogue(EPILOGUE),
    async (args) => {
      const { attach } = await import('./attach-run.ts');
      outcome.code = await attach({
        ...choiceOf(args),
        thread: args.thread,
        follows: args.follow === true,
        after: wholeNumber('--after', single('--after', args.after)),
        json: args.json === true,
      });
    },
  );
};
