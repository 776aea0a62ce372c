// heddle app-server: runs a server; its commands: who runs on a data directory, a way to its socket, one in the background.

import type { ArgumentsCamelCase, InferredOptionTypes } from 'yargs';
import type { Values } from './command-tree.ts';
import type { AddCommand } from './commands.ts';
import { dataDirectoryOf } from './environment.ts';
import type { ServerFlags } from './server-flags.ts';
import { backendOption, configOption, listed, single, text, wholeNumber } from './typed.ts';

/** Those of the server are not those of its commands. */
const global = false;
const own = (describe: string, completes?: Values) => ({ ...text(describe, completes), global }) as const;
const texts = (describe: string, completes?: Values) => ({ ...own(describe, completes), array: true }) as const;

const SERVER_OPTIONS = {
  config: { ...configOption, global },
  backend: {
    ...backendOption('Who runs the turns: runtime (a model provider), mock (a script in the prompt), unavailable'),
    global,
  },
  listen: texts('stdio:// (default), unix://, unix:///PATH, ws://IP:PORT (port 0: a free one), off; repeatable', [
    'stdio://',
    'unix://',
    'ws://127.0.0.1:0',
    'off',
  ]),
  stdio: { type: 'boolean', global, describe: 'The same as --listen stdio://' },
  shared: {
    type: 'boolean',
    global,
    describe: 'Pass standard streams on to the server in the background, started if there is none',
  },
  'end-when-idle': own('Seconds without a client and without work after which the server ends; default: never'),
  'app-server-queue-cap': own('How many requests of one connection may be unanswered; default 256'),
  'data-dir': own('Where everything is kept; default HEDDLE_HOME, else ~/.heddle', 'folder'),
  'ws-auth': own(
    'How WebSocket clients prove themselves: capability-token, signed-bearer-token, none (loopback only)',
    ['capability-token', 'signed-bearer-token', 'none'],
  ),
  'ws-token-file': own('The capability token, in a file of mode 0600', 'file'),
  'ws-token-sha256': own('The SHA-256 of the capability token, in hexadecimal'),
  'ws-shared-secret-file': own('The secret that signs bearer tokens, in a file of mode 0600', 'file'),
  'ws-issuer': own('The `iss` that signed tokens must have'),
  'ws-audience': own('The `aud` that signed tokens must have'),
  'ws-max-clock-skew-seconds': own('How far the clock of a signer may be off; default 30'),
  'ws-scopes': texts('Permissions of a remote capability token beyond threads and approvals, separated by commas'),
  'allow-origin': texts('A web origin that may connect, such as https://app.example; repeatable'),
  'behind-tls-proxy': texts('The public host name of a TLS proxy in front; repeatable'),
} as const;

export const appServerCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'app-server',
    'Run a server for clients of the app-server protocol',
    (yargs) => {
      yargs.usage('$0 app-server [flags]\n\nRuns a server until its input ends, or SIGTERM, SIGINT or SIGHUP comes');
      for (const add of [statusCommand, proxyCommand, daemonCommand]) add(yargs, outcome);
      return yargs.options(SERVER_OPTIONS);
    },
    async (args) => {
      const { serve } = await import('./serve.ts');
      outcome.code = await serve(serverFlags(args));
    },
  );
};

type ServerArguments = ArgumentsCamelCase<InferredOptionTypes<typeof SERVER_OPTIONS>>;

function serverFlags(args: ServerArguments): ServerFlags {
  return {
    isShared: args.shared || undefined,
    endWhenIdle: wholeNumber('--end-when-idle', single('--end-when-idle', args.endWhenIdle)),
    queueCap: wholeNumber('--app-server-queue-cap', single('--app-server-queue-cap', args.appServerQueueCap)),
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
  };
}

const statusCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'status',
    'Say who runs on the data directory and how to reach it',
    (yargs) =>
      yargs.options({
        'data-dir': SERVER_OPTIONS['data-dir'],
        json: { type: 'boolean', describe: 'One JSON object instead of lines for people' },
      }),
    async (args) => {
      const { status } = await import('./status.ts');
      outcome.code = await status({ dataDir: single('--data-dir', args.dataDir), json: args.json === true });
    },
  );
};

const proxyCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'proxy',
    'Pass standard streams on to the socket of the running server',
    (yargs) =>
      yargs.options({
        'data-dir': SERVER_OPTIONS['data-dir'],
        config: configOption,
        sock: own('The socket; default that of the server that runs on the data directory', 'file'),
      }),
    async (args) => {
      const { proxy } = await import('./proxy.ts');
      outcome.code = await proxy({
        sock: single('--sock', args.sock),
        dataDir: single('--data-dir', args.dataDir),
        settings: args.config ?? [],
      });
    },
  );
};

const DAEMON_COMMANDS = ['start', 'stop', 'restart', 'status'] as const;

const daemonCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'daemon <command>',
    'One server in the background that the clients of a user share',
    (yargs) =>
      yargs
        .positional('command', {
          choices: DAEMON_COMMANDS,
          demandOption: true,
          describe: 'What to do with it; restart takes flags anew',
        })
        .options({
          'data-dir': SERVER_OPTIONS['data-dir'],
          backend: SERVER_OPTIONS.backend,
          config: configOption,
          json: { type: 'boolean', describe: 'status: one JSON object instead of lines for people' },
        }),
    async (args) => {
      const dataDir = single('--data-dir', args.dataDir);
      if (args.command === 'status') {
        const { status } = await import('./status.ts');
        outcome.code = await status({ dataDir, json: args.json === true });
        return;
      }
      const daemon = await import('./daemon.ts');
      const directory = dataDirectoryOf(dataDir);
      const backend = single('--backend', args.backend);
      const { settingFlags } = await import('./server-flags.ts');
      const flags = settingFlags({ backend, configFlags: args.config ?? [] });
      if (args.command === 'stop') outcome.code = await daemon.stopDaemon(directory);
      else if (args.command === 'start') outcome.code = await daemon.startDaemon(directory, flags);
      else outcome.code = await daemon.restartDaemon(directory, flags);
    },
  );
};
