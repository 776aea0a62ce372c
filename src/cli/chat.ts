// heddle chat: a conversation at the terminal.

import type { AddCommand } from './commands.ts';
import { backendOption, configOption, dataDirOption, single, text } from './typed.ts';

const EPILOGUE =
  'Ctrl-C interrupts what runs and, where nothing does, ends the conversation, as Ctrl-D and /quit do. ' +
  'Exit codes: 0 done, 2 wrong flags, 4 no connection.';

export const chatCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'chat',
    'Talk with the agent at the terminal',
    (yargs) =>
      yargs
        .usage(
          '$0 chat [flags]\n\nOne thread, a turn for each line; on the server of the data directory if one runs, else in this process',
        )
        .options({
          config: configOption,
          cd: { ...text('The folder to work in; default: this one', 'folder'), alias: 'C' },
          thread: text('The thread to go on with, as `heddle threads list` shows it; default: a new one', 'thread'),
          remote: text('The server to use: unix:///PATH, ws://HOST:PORT or wss://HOST'),
          'remote-auth-token-env': text('The environment variable with the token for --remote', 'variable'),
          backend: backendOption('Who runs the turns in this process: runtime, mock, unavailable'),
          'data-dir': dataDirOption,
        })
        .epilogue(EPILOGUE),
    async (args) => {
      const { chat } = await import('./chat-run.ts');
      outcome.code = await chat({
        folder: single('--cd', args.cd),
        thread: single('--thread', args.thread),
        remote: single('--remote', args.remote),
        tokenVariable: single('--remote-auth-token-env', args.remoteAuthTokenEnv),
        backend: single('--backend', args.backend),
        dataDir: single('--data-dir', args.dataDir),
        config: args.config ?? [],
      });
    },
  );
};
