// The settings of a client's own command line: they count for its connection and its threads, where one connection can have them.

import { AppError } from '../base/errors.ts';
import { flagsLayer } from './layers.ts';
import { keySegments, type Table } from './tables.ts';

/** What is the same for everybody whom a server serves. */
const SERVER_KEYS: ReadonlySet<string> = new Set([
  'approval_timeout_seconds',
  'backend',
  'budgets',
  'client_tool_timeout_seconds',
  'idle_unload_seconds',
  'mcp_oauth_credentials_store',
  'remote',
  'retention',
  'skills',
  'unattended',
]);

/** What turns look up while they run, and so has to stay with a thread. */
const TURN_KEYS = ['features', 'model_auto_compact_token_limit', 'model_context_window', 'model_providers'] as const;

export interface DividedFlags {
  /** `key=value` each, in the order given: those that count for one connection. */
  readonly ofConnection: readonly string[];
  /** The keys of the others, each once. */
  readonly ofServer: readonly string[];
}

export function dividedFlags(flags: readonly string[]): DividedFlags {
  const keyOf = (flag: string) => flag.slice(0, Math.max(flag.indexOf('='), 0)).trim();
  const isOfServer = (flag: string) => SERVER_KEYS.has(keySegments(keyOf(flag))[0] ?? '');
  return {
    ofConnection: flags.filter((flag) => !isOfServer(flag)),
    ofServer: [...new Set(flags.filter(isOfServer).map(keyOf))],
  };
}

/** Of a client's settings, those that its threads keep; undefined: none. */
export function settingsOfThread(settings: Table): Table | undefined {
  const kept = TURN_KEYS.filter((key) => settings[key] !== undefined).map((key) => [key, settings[key]]);
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** Throws as *invalid* for flags of another form or kind, and for settings that one connection cannot have. */
export function connectionSettings(flags: readonly string[]): Table {
  const [wide] = dividedFlags(flags).ofServer;
  if (wide !== undefined)
    throw new AppError('invalid', `Invalid request: heddle.settings: ${wide} is of the whole server`);
  return flagsLayer(flags).settings;
}
