// What keeps commands in bounds, rules and sandbox: looked at in the background of a start, and told to clients where it does not hold.

import { type FSWatcher, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { createPrefixRules, type PrefixRules } from './approvals/prefix-rules.ts';
import { faultText, type RulesFile } from './approvals/rules-file.ts';
import type { Clock } from './base/clock.ts';
import type { Leftovers } from './base/leftovers.ts';
import type { Log } from './base/log.ts';
import type { Children } from './children/spawn.ts';
import { noteWarningOf } from './config/handlers.ts';
import { configWarning } from './config/methods.ts';
import { runsToEnd } from './process/to-end.ts';
import type { ParamsInput } from './rpc/declare.ts';
import type { Session, Sessions } from './rpc/session.ts';
import { createSandboxProbe, noting, type SandboxState } from './sandbox/probe.ts';

export interface Safety {
  readonly prefixRules: PrefixRules;
  /** Tried at the first call, or soon after the start. */
  readonly sandbox: () => Promise<SandboxState>;
  /** Has a client that has come told of what does not hold, as far as it is known and when it becomes known. */
  tell(session: Session): void;
  /** Ends a look that is under way. */
  close(): Promise<void>;
}

export interface SafetyParts {
  readonly dataDirectory: string;
  readonly leftovers: Leftovers;
  /** For trying the sandbox. */
  readonly children: Pick<Children, 'start'>;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: found out by trying. */
  readonly sandbox: (() => Promise<SandboxState>) | undefined;
}

/** Trying the sandbox starts programs, and what clients ask of a server that has just started comes first. */
const LOOK_AFTER_MS = 1_000;

export function createSafety(parts: SafetyParts): Safety {
  const { sessions, clock, log } = parts;
  const closing = new AbortController();
  const rules = new Warning(sessions);
  const bounds = new Warning(sessions);
  const file = join(parts.dataDirectory, 'rules', 'default.rules');
  const prefixRules = createPrefixRules(file, (found) => {
    if (rules.say(found.faults.length > 0 ? rulesWarning(found) : undefined))
      for (const fault of found.faults) log.warn({ rules: faultText(file, fault) }, RULES);
  });
  const probe = noting(parts.leftovers, parts.sandbox ?? createSandboxProbe(runsToEnd(parts.children, closing.signal)));
  const sandbox = async () => {
    const state = await probe();
    if (state.isAvailable || closing.signal.aborted) return state;
    const { reason, advice } = state;
    if (bounds.say(noteWarningOf(SANDBOX, [reason, `${NO_SANDBOX}: ${advice}.`])))
      log.warn({ reason, advice }, SANDBOX);
    return state;
  };
  let watcher: FSWatcher | undefined;
  const readRules = () => {
    watcher ??= watchFolder(dirname(file), () => void prefixRules.faults());
    return prefixRules.faults();
  };
  let looking: Promise<unknown> = Promise.resolve();
  const cancel = clock.timer(LOOK_AFTER_MS, () => {
    looking = Promise.all([sandbox(), readRules()]).catch((error: unknown) =>
      log.error({ err: error }, 'rules and sandbox could not be looked at'),
    );
  });
  return {
    prefixRules,
    sandbox,
    tell(session) {
      bounds.tell(session);
      rules.tell(session);
      void readRules();
    },
    async close() {
      cancel();
      watcher?.close();
      closing.abort();
      await looking;
    },
  };
}

/** Undefined where there is no such folder yet, or the system cannot watch; its files are still read when they are needed. */
function watchFolder(folder: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    return watcher.on('error', () => watcher.close());
  } catch {
    return undefined;
  }
}

const SANDBOX = 'Commands cannot be confined on this machine.';
const NO_SANDBOX = 'Until that is mended they are asked about each time, and refused where nobody may be asked';
const RULES = 'The rules file holds what cannot be read; until it is corrected no rule allows anything.';
/** A file of another kind has something wrong in every line. */
const MOST_FAULTS = 20;

function rulesWarning({ file, faults }: RulesFile): WarningParams {
  const lines = faults.slice(0, MOST_FAULTS).map((fault) => faultText(file, fault));
  if (faults.length > lines.length) lines.push(`and ${faults.length - lines.length} more`);
  const [first] = faults;
  const position = first?.line === undefined ? undefined : { line: first.line, column: first.column };
  return {
    ...noteWarningOf(RULES, lines),
    path: file,
    ...(position ? { range: { start: position, end: position } } : {}),
  };
}

type WarningParams = ParamsInput<typeof configWarning>;

/** What every client is told as it stands, once for each way it stands. */
class Warning {
  readonly #sessions: Sessions;
  readonly #told = new WeakMap<Session, string>();
  #params: WarningParams | undefined;
  #mark = '';

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Undefined: nothing is wrong. Gives whether that is new. */
  say(params: WarningParams | undefined): boolean {
    const mark = params === undefined ? '' : JSON.stringify(params);
    if (mark === this.#mark) return false;
    this.#params = params;
    this.#mark = mark;
    for (const session of this.#sessions) this.tell(session);
    return true;
  }

  tell(session: Session): void {
    if ((this.#told.get(session) ?? '') === this.#mark) return;
    this.#told.set(session, this.#mark);
    if (this.#params) session.notify(configWarning, this.#params);
  }
}
