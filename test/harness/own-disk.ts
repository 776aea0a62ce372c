// A small disk that only the programs on it see: a file system in a file, mounted in a namespace of their own, gone with the last of them.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Waits until nothing holds the file from before: two systems that write to it would ruin it. */
const MOUNT = `
PATH="$PATH:/usr/sbin:/sbin"
for wait in $(seq 1000); do [ -z "$(losetup -j "$1")" ] && break; sleep 0.02; done
[ -z "$(losetup -j "$1")" ] || { echo "the disk is still held by a program from before" >&2; exit 98; }
mount -o "loop,errors=remount-ro,$3" "$1" "$2" || exit 99
shift 3
exec "$@"`;

export interface OwnDisk {
  /** Where it is mounted, for those who see it. */
  readonly place: string;
  /** The command line of a program that sees it; the process is the program itself. Only when no other is on it. */
  command(program: readonly string[], options?: { readonly isReadOnly?: boolean }): [string, string[]];
  /** Runs a line of shell beside a program on the disk; gives what it printed, whatever its end. */
  beside(pid: number, line: string): string;
  /** When no program is on it any more. */
  remove(): void;
}

export function makeOwnDisk(mebibytes: number): OwnDisk {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-disk-'));
  const [image, place] = [join(folder, 'image'), join(folder, 'disk')];
  mkdirSync(place);
  writeFileSync(image, '');
  truncateSync(image, mebibytes * 1024 * 1024);
  // No blocks kept back for root: full is full for everyone.
  execFileSync('bash', ['-c', 'PATH="$PATH:/usr/sbin:/sbin" mkfs.ext4 -q -F -m 0 "$1"', 'mkfs', image], {
    stdio: 'pipe',
  });
  return {
    place,
    command(program, { isReadOnly = false } = {}) {
      const inside = ['bash', '-c', MOUNT, 'mount', image, place, isReadOnly ? 'ro' : 'rw', ...program];
      return ['unshare', ['--mount', '--propagation', 'private', ...inside]];
    },
    beside: (pid, line) =>
      execFileSync('nsenter', ['--mount', '--target', String(pid), 'bash', '-c', `${line}; true`], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
        env: { ...process.env, DISK: place },
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Why there can be no such disk here; undefined: there can. */
export function whyNoDisk(): string | undefined {
  try {
    const disk = makeOwnDisk(4);
    try {
      // What makes it fail when a test wants that.
      const [program, args] = disk.command(['bash', '-c', 'ls /sys/fs/ext4/*/trigger_fs_error']);
      execFileSync(program, args, { stdio: 'pipe', timeout: 20_000 });
    } finally {
      disk.remove();
    }
    return undefined;
  } catch (error) {
    return String(error).split('\n')[0];
  }
}
