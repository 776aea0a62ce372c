// Runs a server from its flags to its exit code.

import { type App, createApp } from '../app.ts';
import type { Closable } from '../base/close.ts';
import { unlessAborted } from '../base/signals.ts';
import { listenAt } from '../transports/address.ts';
import type { Accept, Listener } from '../transports/connection.ts';
import { backendLines, listeningLines } from './announcement.ts';
import { checkEnvironment, processLog, VERSION, validatesResults } from './environment.ts';
import { complaintOf, EXIT, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { probeHistory } from './history-probe.ts';
import { watchForIdleness } from './idle-end.ts';
import { planServer, type ServerFlags, type ServerPlan, settingFlags, settingsDigest } from './server-flags.ts';
import { claimStandardStreams } from './standard-output.ts';
import { type Stopping, watchForStop } from './stopping.ts';

/** Clients and service managers give up on us at five seconds. */
const END_MS = 4_500;
const SHUTDOWN = { kind: 'shutdown', text: 'the server stops' } as const;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Settles when the server has ended; the process should exit then. */
export async function serve(flags: ServerFlags): Promise<ExitCode> {
  try {
    checkEnvironment();
    if (flags.isShared) {
      const shared = await (await import('./shared.ts')).share(flags);
      if (shared !== undefined) return shared;
    }
    const streams = claimStandardStreams();
    const stopping = watchForStop(say);
    const plan = await planServer(flags);
    await probeHistory(plan.dataDirectory);
    const server = await start(plan, streams, stopping);
    const reason = await stopping.reason;
    say(`heddle app-server stops: ${reason.text}`);
    const isClean = await within(END_MS, server.close());
    if (isClean) return reason.code;
    say(`it did not end within ${END_MS} ms; what still runs is cut off`);
    // An ordinary exit in the middle of a commit waits for the store for ever.
    process.kill(process.pid, 'SIGKILL');
    return EXIT.failed;
  } catch (error) {
    process.stderr.write(complaintOf(error, 'heddle app-server --help'));
    return exitCodeOf(error);
  }
}

/** Closing it takes no new work, settles and stores what runs, and ends connections, whose last frames are whole, and children. */
type Server = Closable;

async function start(
  plan: ServerPlan,
  streams: Parameters<typeof listenAt>[1]['streams'],
  stopping: Stopping,
): Promise<Server> {
  const app = await createApp({
    dataDirectory: plan.dataDirectory,
    cwd: process.cwd(),
    version: VERSION,
    log: processLog(),
    environment: process.env,
    configFlags: plan.configFlags,
    validatesResults: validatesResults(),
    maxInFlight: plan.queueCap,
    ...(plan.backend === undefined ? {} : { backend: plan.backend }),
  });
  const listeners: Listener[] = [];
  const server: Server = {
    close: async () => {
      await Promise.all(listeners.map((listener) => listener.close()));
      await app.close();
    },
  };
  try {
    hideSecrets(app, plan);
    const accept = acceptInto(app, plan, stopping);
    const options = { flags: plan.auth, dataDirectory: app.dataDirectory, streams };
    for (const address of plan.addresses) listeners.push(await listenAt(address, options)(accept));
    const tokenFile = listeners.find((listener) => listener.tokenFile !== undefined)?.tokenFile;
    await app.announce({
      endpoints: listeners.map(({ address }) => address),
      settings: settingsDigest(settingFlags(plan)),
      backend: app.backend,
      ...(tokenFile === undefined ? {} : { tokenFile }),
    });
    // Whoever reads this may look for the server by its data directory.
    for (const line of [...backendLines(app), ...listeningLines(listeners)]) say(line);
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

function acceptInto(app: App, { addresses, endWhenIdle }: ServerPlan, stopping: Stopping): Accept {
  const isOnlyStdio = addresses.every(({ kind }) => kind === 'stdio');
  const idleness =
    endWhenIdle === undefined
      ? undefined
      : watchForIdleness({ ms: endWhenIdle * 1000, isBusy: app.isBusy }, () =>
          stopping.request('nobody has needed it for a while'),
        );
  return (connection, principal) => {
    if (stopping.isRequested()) {
      void connection.close(SHUTDOWN);
      return;
    }
    if (isOnlyStdio) void connection.closed.then(({ text }) => stopping.request(`the client has gone (${text})`));
    idleness?.entered(connection.closed);
    app.accept(connection, principal);
  };
}

/** Sandboxed commands must not reach the server's own door, nor read what opens it. */
function hideSecrets(app: App, { addresses, auth }: ServerPlan): void {
  for (const address of addresses) if (address.kind === 'unix') app.hide(address.path);
  for (const file of [auth.wsTokenFile, auth.wsSharedSecretFile]) if (file !== undefined) app.hide(file);
}

/** False when the work has not settled by then. Rejects as the work does. */
async function within(ms: number, work: Promise<void>): Promise<boolean> {
  const limit = AbortSignal.timeout(ms);
  try {
    await unlessAborted(work, limit);
    return true;
  } catch (error) {
    if (limit.aborted) return false;
    throw error;
  }
}
