// A keyring of the desktop for tests: a session bus of its own, and the real daemon on it, its folders in a place of the test.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAMS = ['dbus-daemon', 'gnome-keyring-daemon'];

export const hasSecretService = PROGRAMS.every(
  (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
);

if (!hasSecretService) console.warn(`SKIPPED: the real keyring: ${PROGRAMS.join(' or ')} is not installed`);

export interface SecretService {
  /** Of the bus, for DBUS_SESSION_BUS_ADDRESS. */
  readonly address: string;
  close(): Promise<void>;
}

/** Unlocked and empty. */
export async function startSecretService(): Promise<SecretService> {
  const folder = mkdtempSync(join(tmpdir(), 'keyring-'));
  const run = join(folder, 'run');
  mkdirSync(run, { mode: 0o700 });
  const env = { PATH: process.env.PATH, HOME: folder, XDG_RUNTIME_DIR: run, XDG_DATA_HOME: folder };
  const bus = spawn('dbus-daemon', ['--session', '--nofork', '--print-address'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const address = await firstLine(bus);
  // It is there when the program that was called ends, and it ends with its bus.
  const { status } = spawnSync('gnome-keyring-daemon', ['--daemonize', '--unlock', '--components=secrets'], {
    env: { ...env, DBUS_SESSION_BUS_ADDRESS: address },
    input: 'password of a test',
  });
  if (status !== 0) throw new Error(`gnome-keyring-daemon has ended with ${status}`);
  return {
    address,
    async close() {
      bus.kill('SIGTERM');
      if (bus.exitCode === null && bus.signalCode === null) await new Promise((resolve) => bus.once('exit', resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout) createInterface({ input: child.stdout }).once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${child.spawnfile} has ended with ${code}`)));
  });
}
