// heddle exec: one turn, from a prompt to an exit code.

import { AppError } from '../base/errors.ts';
import type { AddCommand } from './commands.ts';
import { backendOption, configOption, dataDirOption, single, text } from './typed.ts';

const EPILOGUE =
  'Exit codes: 0 the turn completed, 1 it failed, 2 wrong flags, 3 something it asked for was refused, ' +
  '4 no connection, 130 interrupted. Ctrl-C interrupts the turn and waits for its end.';

export const execCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'exec [prompt]',
    'Run one turn and print what happens',
    (yargs) =>
      yargs
        .usage(
          '$0 exec "prompt" [flags]\n\nRuns one turn on the server of the data directory if one runs, else in this process. ' +
            'The answer goes to standard output, everything else to standard error.',
        )
        .positional('prompt', {
          type: 'string',
          describe: 'What to do; - or none: read it from standard input',
        })
        .options({
          config: configOption,
          cd: { ...text('The folder to work in; default: this one', 'folder'), alias: 'C' },
          thread: text('The thread to go on with, as `heddle threads list` shows it; default: a new one', 'thread'),
          image: { ...text('An image file that goes with the prompt; repeatable', 'file'), array: true },
          'output-schema': text('A file with the JSON schema that the answer has to fit', 'file'),
          remote: text('The server to use: unix:///PATH, ws://HOST:PORT or wss://HOST'),
          'remote-auth-token-env': text('The environment variable with the token for --remote', 'variable'),
          approvals: text('What to do when it asks: ask (default on a terminal) or decline (default without one)', [
            'ask',
            'decline',
          ]),
          json: { type: 'boolean', describe: 'Print each notification of the server as a line of JSON' },
          backend: backendOption('Who runs the turn in this process: runtime, mock, unavailable'),
          'data-dir': dataDirOption,
        })
        .epilogue(EPILOGUE),
    async (args) => {
      const { exec } = await import('./exec-run.ts');
      outcome.code = await exec({
        prompt: args.prompt ?? '',
        folder: single('--cd', args.cd),
        thread: single('--thread', args.thread),
        images: args.image ?? [],
        outputSchema: single('--output-schema', args.outputSchema),
        remote: single('--remote', args.remote),
        tokenVariable: single('--remote-auth-token-env', args.remoteAuthTokenEnv),
        approvals: approvalsMode(single('--approvals', args.approvals)),
        json: args.json === true,
        backend: single('--backend', args.backend),
        dataDir: single('--data-dir', args.dataDir),
        config: args.config ?? [],
      });
    },
  );
};

function approvalsMode(typed: string | undefined): 'ask' | 'decline' | undefined {
  if (typed === undefined || typed === 'ask' || typed === 'decline') return typed;
  throw new AppError('invalid', `unknown --approvals \`${typed}\`; choose \`ask\` or \`decline\``);
}
