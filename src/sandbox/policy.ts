// What a command may touch.

import type { NetworkRules } from '../model/policy.ts';
import type { Pattern } from './pattern.ts';

export type SandboxMode = 'read-only' | 'workspace-write' | 'danger-full-access';

export interface SandboxPolicy {
  /** `danger-full-access` runs bare: nothing else in here applies then. */
  readonly mode: SandboxMode;
  /** Absolute folders that may be written, with all below them, under `workspace-write`; the workspace itself is one of them. */
  readonly writableRoots: readonly string[];
  /** Absolute folders that commands work in. In `/tmp` and `/run`, which are private to each command, only these can be seen. */
  readonly workspace: readonly string[];
  /** Where the roots led when they were chosen, if that is known; those that are not named led to themselves. */
  readonly places?: Readonly<Record<string, string>>;
  readonly network: boolean;
  /** Without the network: hosts that can be reached all the same, by way of a proxy of ours. */
  readonly hosts?: NetworkRules;
  /**
   * Absolute paths of files and folders that a command must not even see: the data directory, token files, folders of sockets.
   * They win over a writable root around them; a writable root inside one of them stays usable. One that is missing refuses every
   * command that could find it elsewhere.
   */
  readonly hidden: readonly string[];
  /** The same for paths that may be missing: what is not there needs no hiding. */
  readonly denied?: readonly string[];
  /** What they match when a command starts is denied as well, whatever may be written in there. */
  readonly patterns?: Patterns;
  /** Nothing else can be read, but what may be written. Absent: all that is not hidden or denied. */
  readonly readable?: Readable;
  /** Absolute paths that stay as they are in a writable folder around them; a writable root inside one of them stays usable. */
  readonly readOnly?: readonly string[];
  /** The folder that TMPDIR names; writable under `workspace-write` unless excluded. */
  readonly tmpdir?: string;
  readonly excludeTmpdir: boolean;
  /** Makes `/tmp`, which is private to each command unless the workspace lies in it, read-only. */
  readonly excludeSlashTmp: boolean;
}

export interface Patterns {
  readonly all: readonly Pattern[];
  /** Levels of folders, from the base of each, that are looked through; infinity: all. */
  readonly depth: number;
}

export interface Readable {
  /** Absolute paths of files and folders; missing ones are none. */
  readonly paths: readonly string[];
  /** Also what programs of the system need. */
  readonly isMinimal: boolean;
}

/**
 * Names directly below a writable root that stay read-only, and cannot be made where they are missing: who writes them makes others
 * run programs later.
 */
export const PROTECTED_NAMES: readonly string[] = ['.git', '.agents', '.codex', '.heddle'];

export function isSandboxed(policy: SandboxPolicy): boolean {
  return policy.mode !== 'danger-full-access';
}

/** True when `path` is `folder` or lies below it; both absolute and normal. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** `path` lies in one of `covers`, and not in a root that lies in that cover in its turn. */
export function isCovered(path: string, covers: readonly string[], roots: readonly string[]): boolean {
  return covers.some(
    (cover) =>
      isWithin(path, cover) && !roots.some((root) => isWithin(path, root) && root !== cover && isWithin(root, cover)),
  );
}
