// Standard streams through the server in the background: clients that each start a server of their own share one.

import { dividedFlags } from '../config/connection-settings.ts';
import type { OwnerInfo } from '../history/owner.ts';
import { startServer } from './daemon.ts';
import { dataDirectoryOf } from './environment.ts';
import { complaintOf, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { passThrough } from './proxy.ts';
import { planServer, type ServerFlags, type ServerPlan, settingFlags, settingsDigest } from './server-flags.ts';

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
  const plan = await planServer(flags);
  const { ofConnection: settings, ofServer } = dividedFlags(plan.configFlags);
  if (ofServer.length > 0)
    say(`${named(ofServer)} of this command line cannot count for one client: set it in config.yaml for all of them`);
  const directory = dataDirectoryOf(flags.dataDir);
  // What it is started with counts for everybody; the rest goes with the connection of each.
  const common = settingFlags({ ...plan, configFlags: [] });
  const found = await startServer(directory, [...common, '--end-when-idle', String(IDLE_SECONDS)]);
  if (found === 'silent') return undefined;
  const { owner, address, isNew } = found;
  if (!isNew && owner.settings !== settingsDigest(common)) sayWhatDiffers(plan, owner, directory);
  return passThrough(address, { cwd: process.cwd(), settings });
}

/** What a server that runs already cannot be given. */
function sayWhatDiffers({ backend, queueCap }: ServerPlan, owner: OwnerInfo, directory: string): void {
  const isOther = backend !== undefined && owner.backend !== undefined && backend !== owner.backend;
  const others = [
    ...(isOther ? [`--backend ${backend} (there it is ${owner.backend})`] : []),
    ...(queueCap === undefined ? [] : [`--app-server-queue-cap ${queueCap}`]),
  ];
  if (others.length === 0) return;
  say(
    `shares the server that runs on ${directory} (pid ${owner.pid}); its settings count, not ${others.join(' and ')}`,
  );
}

const named = (keys: readonly string[]): string => keys.map((key) => `\`-c ${key}\``).join(', ');
const say = (text: string): void => void process.stderr.write(`heddle: ${text}\n`);
