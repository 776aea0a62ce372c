// The same policy in the language of the sandbox of macOS.

import type { Layout } from './layout.ts';
import type { SandboxPolicy } from './policy.ts';

/** A profile for `sandbox-exec -p`. In it the last rule that matches decides. */
export function seatbeltProfile(policy: SandboxPolicy, layout: Layout): string {
  const isWriting = policy.mode === 'workspace-write';
  const writable = [
    ...layout.writable,
    ...(layout.tmpdir ? [layout.tmpdir] : []),
    ...(isWriting && !policy.excludeSlashTmp ? ['/private/tmp'] : []),
  ];
  return [
    '(version 1)',
    '(allow default)',
    '(deny file-write*)',
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (subpath "/dev/fd"))',
    ...writable.map((path) => `(allow file-write* (subpath ${quoted(path)}))`),
    ...layout.pinned.map((path) => `(deny file-write* (literal ${quoted(path)}))`),
    ...[...new Set([...layout.protected, ...layout.reserved])].map(
      (path) => `(deny file-write* (subpath ${quoted(path)}))`,
    ),
    ...layout.hidden.map(({ path }) => `(deny file-read* file-write* (subpath ${quoted(path)}))`),
    ...layout.writable
      .filter((root) => layout.hidden.some(({ path }) => root !== path && root.startsWith(`${path}/`)))
      .map((path) => `(allow file-read* file-write* (subpath ${quoted(path)}))`),
    ...(policy.network ? [] : ['(deny network*)']),
    '(deny mach-priv-task-port)',
  ].join('\n');
}

function quoted(path: string): string {
  return `"${path.replaceAll(/["\\]/g, '\\$&')}"`;
}
