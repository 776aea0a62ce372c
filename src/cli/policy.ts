// heddle policy: what the rules of a running server say of a command or of files.

import type { AddCommand } from './commands.ts';
import { choiceOf, SERVER_CHOICE } from './running-server.ts';
import { single, text } from './typed.ts';

export const policyCommand: AddCommand = (cli, outcome) => {
  cli.command('policy', 'Say what the rules would decide', (yargs) =>
    yargs
      .usage('$0 policy <command>')
      .command(
        'explain [line]',
        'Say whether a command line or a change of files would be allowed, asked about or refused, and why; nothing is run',
        (inner) =>
          inner.positional('line', { type: 'string', describe: 'The command line, in quotation marks' }).options({
            ...SERVER_CHOICE,
            file: { ...text('A file to change, in place of a command line; repeatable', 'file'), array: true },
            escalate: { type: 'boolean', describe: 'The command asks to leave the sandbox' },
            thread: text('As this thread is; default: as a thread that would start now', 'thread'),
            cd: { ...text('The folder; default: this one, or that of the thread', 'folder'), alias: 'C' },
            'approval-policy': text('untrusted, on-request or never', ['untrusted', 'on-request', 'never']),
            sandbox: text('read-only, workspace-write or danger-full-access', [
              'read-only',
              'workspace-write',
              'danger-full-access',
            ]),
            json: { type: 'boolean', describe: 'One JSON object instead of lines for people' },
          }),
        async (args) => {
          const { explainPolicy } = await import('./policy-work.ts');
          outcome.code = await explainPolicy({
            ...choiceOf(args),
            line: args.line,
            files: args.file ?? [],
            escalate: args.escalate === true,
            thread: single('--thread', args.thread),
            folder: single('--cd', args.cd),
            approvalPolicy: single('--approval-policy', args.approvalPolicy),
            sandbox: single('--sandbox', args.sandbox),
            json: args.json === true,
          });
        },
      )
      .epilogue('Exit codes: 0 explained, 1 it could not be, 2 wrong flags, 4 no server.')
      .demandCommand(1, 'say what to do: `heddle policy explain "git push"`'),
  );
};
