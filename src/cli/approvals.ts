// heddle approvals: what waits for people in all threads of a running server, and answers from anywhere.

import type { AddCommand } from './commands.ts';
import { choiceOf, SERVER_CHOICE } from './running-server.ts';
import { argument, needed, single, text } from './typed.ts';

const EPILOGUE = 'Exit codes: 0 done, 1 it could not be answered, 2 wrong flags, 4 no server.';

export const approvalsCommand: AddCommand = (cli, outcome) => {
  cli.command('approvals', 'Show what waits for approval, and answer it', (yargs) =>
    yargs
      .usage('$0 approvals <command>\n\nQuestions of all threads of the server that runs on the data directory')
      .command(
        'list',
        'Show the questions that stand, the oldest first',
        (inner) =>
          inner.options({
            ...SERVER_CHOICE,
            thread: text('Only those of this thread', 'thread'),
            json: { type: 'boolean', describe: 'One JSON object a line instead of words for people' },
          }),
        async (args) => {
          const { listApprovals } = await import('./approvals-work.ts');
          outcome.code = await listApprovals({
            ...choiceOf(args),
            thread: single('--thread', args.thread),
            json: args.json === true,
          });
        },
      )
      .command(
        'answer <id> [decision]',
        'Answer one of them',
        (inner) =>
          inner
            .positional('id', needed('As the list shows it', 'approval'))
            .positional(
              'decision',
              argument('accept, acceptForSession, always (remembers the rule that is offered), decline or cancel', [
                'accept',
                'acceptForSession',
                'always',
                'decline',
                'cancel',
              ]),
            )
            .options({
              ...SERVER_CHOICE,
              say: { ...text('For a question in words, or a form: id=answer; repeatable'), array: true },
              content: text('For a form: what is filled in, as JSON; - reads it from standard input'),
            }),
        async (args) => {
          const { answerApproval } = await import('./approvals-work.ts');
          outcome.code = await answerApproval({
            ...choiceOf(args),
            id: args.id,
            decision: args.decision,
            said: args.say ?? [],
            content: single('--content', args.content),
          });
        },
      )
      .epilogue(EPILOGUE)
      .demandCommand(1, 'say what to do: `heddle approvals list` or `heddle approvals answer ID accept|decline`'),
  );
};
