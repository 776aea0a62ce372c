// heddle token: makes what WebSocket clients prove themselves with.

import type { AddCommand } from './commands.ts';
import { single, text } from './typed.ts';

export const tokenCommand: AddCommand = (cli, outcome) => {
  cli.command('token', 'Make tokens for WebSocket clients', (yargs) =>
    yargs
      .usage('$0 token <command>')
      .command(
        'new',
        'Make a capability token: a file of mode 0600, and its SHA-256; the token itself is not shown',
        (inner) =>
          inner
            .options({ file: text('Where to write the token', 'file') })
            .demandOption('file', 'say where: --file PATH'),
        async (args) => {
          const { newToken } = await import('./token-work.ts');
          outcome.code = await newToken(single('--file', args.file)!);
        },
      )
      .command(
        'sign',
        'Print a signed bearer token',
        (inner) =>
          inner
            .options({
              'secret-file': text('The shared secret, the same as --ws-shared-secret-file of the server', 'file'),
              sub: text('Who it is for'),
              tenant: text('Whose records it opens; default local'),
              scope: text(
                'Permissions, separated by blanks or commas, such as "thread:read thread:write"; a remote client without may do nothing',
              ),
              expires: { ...text('How long it is good for, such as 30m, 12h or 7d'), default: '1h' },
              issuer: text('The `iss` that the server asks for'),
              audience: text('The `aud` that the server asks for'),
            })
            .demandOption('secret-file', 'say where the secret is: --secret-file PATH')
            .demandOption('sub', 'say who the token is for: --sub NAME'),
        async (args) => {
          const { signToken } = await import('./token-work.ts');
          outcome.code = await signToken({
            secretFile: single('--secret-file', args.secretFile)!,
            sub: single('--sub', args.sub)!,
            tenant: single('--tenant', args.tenant),
            scope: single('--scope', args.scope),
            expires: single('--expires', args.expires)!,
            issuer: single('--issuer', args.issuer),
            audience: single('--audience', args.audience),
          });
        },
      )
      .demandCommand(1, 'say which token: `heddle token new --file PATH` or `heddle token sign …`'),
  );
};
