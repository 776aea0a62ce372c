// heddle app-server: runs a server; heddle app-server status: says who runs on a data directory.

import type { AddCommand } from './commands.ts';
import { configOption, listed, single, wholeNumber } from './typed.ts';

const text = (describe: string) => ({ type: 'string', requiresArg: true, describe }) as const;
const texts = (describe: string) => ({ type: 'string', array: true, requiresArg: true, describe }) as const;

const SERVER_OPTIONS = {
  config: configOption,
  backend: text('Who runs the turns: runtime (a model provider), mock (a script in the prompt), unavailable'),
  listen: texts('stdio:// (default), unix://, unix:///PATH, ws://IP:PORT (port 0: a free one), off; repeatable'),
  stdio: { type: 'boolean', describe: 'The same as --listen stdio://' },
  'data-dir': text('Where everything is kept; default HEDDLE_HOME, else ~/.heddle'),
  'ws-auth': text(
    'How WebSocket clients prove themselves: capability-token, signed-bearer-token, none (loopback only)',
  ),
  'ws-token-file': text('The capability token, in a file of mode 0600'),
  'ws-token-sha256': text('The SHA-256 of the capability token, in hexadecimal'),
  'ws-shared-secret-file': text('The secret that signs bearer tokens, in a file of mode 0600'),
  'ws-issuer': text('The `iss` that signed tokens must have'),
  'ws-audience': text('The `aud` that signed tokens must have'),
  'ws-max-clock-skew-seconds': text('How far the clock of a signer may be off; default 30'),
  'ws-scopes': texts('Permissions of a remote capability token beyond threads and approvals, separated by commas'),
  'allow-origin': texts('A web origin that may connect, such as https://app.example; repeatable'),
  'behind-tls-proxy': texts('The public host name of a TLS proxy in front; repeatable'),
} as const;

export const appServerCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'app-server',
    'Run a server for clients of the app-server protocol',
    (yargs) =>
      yargs
        .usage('$0 app-server [flags]\n\nRuns a server until its input ends, or SIGTERM, SIGINT or SIGHUP comes')
        .command(
          'status',
          'Say who runs on the data directory and how to reach it',
          (inner) =>
            inner
              .option('data-dir', SERVER_OPTIONS['data-dir'])
              .option('json', { type: 'boolean', describe: 'One JSON object instead of lines for people' }),
          async (args) => {
            const { status } = await import('./status.ts');
            outcome.code = await status({ dataDir: single('--data-dir', args.dataDir), json: args.json === true });
          },
        )
        .options(SERVER_OPTIONS),
    async (args) => {
      const { serve } = await import('./serve.ts');
      outcome.code = await serve({
        backend: single('--backend', args.backend),
        dataDir: single('--data-dir', args.dataDir),
        listen: [...(args.stdio ? ['stdio://'] : []), ...(args.listen ?? [])],
        config: args.config ?? [],
        auth: {
          wsAuth: single('--ws-auth', args.wsAuth),
          wsTokenFile: single('--ws-token-file', args.wsTokenFile),
          wsTokenSha256: single('--ws-token-sha256', args.wsTokenSha256),
          wsSharedSecretFile: single('--ws-shared-secret-file', args.wsSharedSecretFile),
          wsIssuer: single('--ws-issuer', args.wsIssuer),
          wsAudience: single('--ws-audience', args.wsAudience),
          wsMaxClockSkewSeconds: wholeNumber(
            '--ws-max-clock-skew-seconds',
            single('--ws-max-clock-skew-seconds', args.wsMaxClockSkewSeconds),
          ),
          wsScopes: listed(args.wsScopes),
          allowOrigin: args.allowOrigin,
          behindTlsProxy: args.behindTlsProxy,
        },
      });
    },
  );
};
