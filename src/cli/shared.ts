// Standard streams through the server in the background: clients that each start a server of their own share one.

import { startServer } from './daemon.ts';
import { dataDirectoryOf } from './environment.ts';
import { complaintOf, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { passThrough } from './proxy.ts';
import { planServer, type ServerFlags, settingFlags, settingsDigest } from './server-flags.ts';

/** A server that was started for clients goes when they have, but not between two of them. */
const IDLE_SECONDS = 60;

/**
 * Undefined: somebody has the data directory who cannot be reached by a socket. Says on standard error what is wrong with the
 * flags, or why no server started. Never rejects.
 */
export async function share(flags: ServerFlags): Promise<ExitCode | undefined> {
  try {
    return await passOn(flags);
  } catch (error) {
    process.stderr.write(complaintOf(error, 'heddle app-server --help'));
    return exitCodeOf(error);
  }
}

async function passOn(flags: ServerFlags): Promise<ExitCode | undefined> {
  const settings = settingFlags(await planServer(flags));
  const directory = dataDirectoryOf(flags.dataDir);
  const found = await startServer(directory, [...settings, '--end-when-idle', String(IDLE_SECONDS)]);
  if (found === 'silent') return undefined;
  const { owner, address, isNew } = found;
  if (!isNew && settings.length > 0 && owner.settings !== settingsDigest(settings))
    process.stderr.write(
      `heddle: shares the server that runs on ${directory} (pid ${owner.pid}); its settings count, not those of this command line\n`,
    );
  return passThrough(address, { cwd: process.cwd() });
}
