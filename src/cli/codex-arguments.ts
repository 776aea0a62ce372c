// The command line of the reference, as far as clients use it to start an app server, in the words of our own.

/** Clients run `--version` and want at least the version whose protocol this is. */
const VERSION_TEXT = 'codex-cli 0.171.0';

const HELP = `heddle-codex: Heddle where a client looks for \`codex\`

Usage:
  heddle-codex [-c key=value]… app-server [flags]   a server on the runtime backend; flags as in \`heddle app-server --help\`
  heddle-codex app-server proxy [--sock PATH]       standard streams to the socket of the running server
  heddle-codex app-server daemon start|stop|status  one server that several clients share
  heddle-codex --version                            ${VERSION_TEXT}`;

/** What a client of the reference may rely on, and below everything that its own flags say. */
const DEFAULTS = ['--backend', 'runtime', '-c', 'busy_turn_start=steer', '-c', 'other_reviewers=people'] as const;

/** Flags of the reference that change nothing here, and whether a value follows. */
const WITHOUT_EFFECT: Readonly<Record<string, boolean>> = {
  '--analytics-default-enabled': false,
  '--strict-config': false,
  '--startup-sign-out': false,
  '--startup-client-info': true,
};

const FEATURE: Readonly<Record<string, boolean>> = { '--enable': true, '--disable': false };

export type Meant =
  | { readonly argv: readonly string[] }
  /** To be printed, and that is all. */
  | { readonly text: string }
  | { readonly problem: string };

export function codexArguments(given: readonly string[]): Meant {
  const settings: string[] = [];
  const rest: string[] = [];
  for (let at = 0; at < given.length; at += 1) {
    const [flag, inline] = split(given[at] as string);
    const feature = FEATURE[flag];
    const takesValue = flag === '--config' || feature !== undefined || WITHOUT_EFFECT[flag] === true;
    if (!takesValue) {
      if (WITHOUT_EFFECT[flag] === undefined) rest.push(given[at] as string);
      continue;
    }
    if (inline === undefined) at += 1;
    const value = inline ?? given[at];
    if (value === undefined) return { problem: `\`${flag}\` needs a value` };
    if (flag === '--config') settings.push('-c', value);
    else if (feature !== undefined) settings.push('-c', `features.${value}=${feature}`);
  }
  return meaning(rest, settings);
}

function meaning(rest: readonly string[], settings: readonly string[]): Meant {
  const [command, ...flags] = rest;
  if (command === '--version' || command === '-V') return { text: VERSION_TEXT };
  if (command === undefined || command === '--help' || command === '-h' || command === 'help') return { text: HELP };
  if (command !== 'app-server')
    return {
      problem: `\`${command}\` is not here: this stands in for \`codex app-server\` only; for a conversation, run \`heddle exec "…"\``,
    };
  const [verb] = flags;
  if (flags.some((flag) => flag === '--version' || flag === '-V'))
    return { problem: '`app-server` has no version of its own; run `heddle-codex --version`' };
  if (verb === 'proxy') return { argv: [command, ...flags, ...settings] };
  // A command of its own has settings only where it starts a server.
  if (verb === 'status' || (verb === 'daemon' && flags[1] !== 'start' && flags[1] !== 'restart'))
    return { argv: [command, ...flags] };
  const isShared = !flags.includes('--help') && !flags.includes('-h') && isOverStdio(flags);
  const words = verb === 'daemon' ? flags.slice(0, 2) : [];
  const own = flags.slice(words.length);
  return { argv: [command, ...words, ...DEFAULTS, ...settings, ...own, ...(isShared ? ['--shared'] : [])] };
}

const isOverStdio = (flags: readonly string[]): boolean =>
  flags[0] !== 'daemon' && !flags.some((flag, at) => flag.startsWith('--listen') && !isStdio(flag, flags[at + 1]));

const isStdio = (flag: string, next: string | undefined): boolean =>
  (flag.startsWith('--listen=') ? flag.slice('--listen='.length) : next) === 'stdio://';

/** `--flag=value` as two; `-c value`, `-cvalue` and `-c=value` as `--config`. */
function split(text: string): readonly [string, string | undefined] {
  if (/^-c/.test(text)) return ['--config', text.length > 2 ? text.slice(2).replace(/^=/, '') : undefined];
  const equals = text.startsWith('--') ? text.indexOf('=') : -1;
  return equals < 0 ? [text, undefined] : [text.slice(0, equals), text.slice(equals + 1)];
}
