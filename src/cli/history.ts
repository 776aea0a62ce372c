// heddle history verify: proves that the stored history is what was written.

import type { AddCommand } from './commands.ts';
import { dataDirectoryOf } from './environment.ts';
import { EXIT } from './exit-codes.ts';
import { plural } from './terminal.ts';
import { single } from './typed.ts';

export const historyCommand: AddCommand = (cli, outcome) => {
  cli.command('history', 'Look after the stored history', (yargs) =>
    yargs
      .usage('$0 history <command>')
      .command(
        'verify',
        'Walk every chain and compare every record with its digest; exit code 1 on damage',
        (inner) =>
          inner.options({
            'data-dir': { type: 'string', requiresArg: true, describe: 'Default HEDDLE_HOME, else ~/.heddle' },
            thread: { type: 'string', requiresArg: true, describe: 'Only this thread' },
          }),
        async (args) => {
          const { verifyHistory } = await import('../history/verify.ts');
          const threadId = single('--thread', args.thread);
          const directory = dataDirectoryOf(single('--data-dir', args.dataDir));
          const found = await verifyHistory(directory, threadId === undefined ? {} : { threadId });
          for (const { threadId: thread, tenant, seq, problem } of found.damages)
            process.stdout.write(`damaged: thread ${thread} (tenant ${tenant}), record ${seq}: ${problem}\n`);
          const walked = `${plural(found.threads, 'thread')}, ${plural(found.records, 'record')}`;
          const verdict =
            found.damages.length === 0 ? 'all as written' : `${plural(found.damages.length, 'thread')} damaged`;
          process.stdout.write(`${walked}: ${verdict}\n`);
          outcome.code = found.damages.length === 0 ? EXIT.done : EXIT.failed;
        },
      )
      .demandCommand(1, 'say what to do with the history: `heddle history verify`'),
  );
};
