// Reading the plain forms of `heddle app-server` without the command line library, which costs a third of a start.

import type { ServerFlags } from './server-flags.ts';

const SINGLE: Readonly<Record<string, 'backend' | 'dataDir'>> = { '--backend': 'backend', '--data-dir': 'dataDir' };
const REPEATED: Readonly<Record<string, 'listen' | 'config'>> = {
  '--listen': 'listen',
  '-c': 'config',
  '--config': 'config',
};

/**
 * The flags when the arguments are `app-server` and nothing but `--stdio`, `--shared` and separate pairs of flag and value, each single one
 * once. Undefined for anything else: the library reads that, and complains where there is something to complain about.
 */
export function plainServerFlags(argv: readonly string[]): ServerFlags | undefined {
  const flags: { backend?: string; dataDir?: string; listen: string[]; config: string[] } = { listen: [], config: [] };
  let isStdio = false;
  let isShared = false;
  let hasCommand = false;
  for (let at = 0; at < argv.length; at += 1) {
    const name = argv[at]!;
    if (name === 'app-server' && !hasCommand) {
      hasCommand = true;
      continue;
    }
    if (name === '--stdio' && hasCommand && !isStdio) {
      isStdio = true;
      continue;
    }
    if (name === '--shared' && hasCommand) {
      isShared = true;
      continue;
    }
    at += 1;
    const value = argv[at];
    if (value === undefined || value === '' || value.startsWith('-')) return undefined;
    const repeated = Object.hasOwn(REPEATED, name) ? REPEATED[name] : undefined;
    const single = Object.hasOwn(SINGLE, name) ? SINGLE[name] : undefined;
    if (repeated === 'config' || (repeated && hasCommand)) flags[repeated].push(value);
    else if (single && hasCommand && flags[single] === undefined) flags[single] = value;
    else return undefined;
  }
  if (!hasCommand) return undefined;
  return {
    ...flags,
    ...(isShared ? { isShared } : {}),
    listen: isStdio ? ['stdio://', ...flags.listen] : flags.listen,
    auth: {},
  };
}
