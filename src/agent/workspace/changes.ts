// What commands do to the files of a turn: looked for after each of them, and told as the diff of the turn.

import { lstat } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TurnPort } from '../../approvals/thread-port.ts';
import { sleep } from '../../base/clock.ts';
import { isAppError } from '../../base/errors.ts';
import type { Mailbox } from '../../base/mailbox.ts';
import { onAbort } from '../../base/signals.ts';
import { realPathOf } from '../../fs/containment.ts';
import { isWithin } from '../../sandbox/policy.ts';
import { reachOf } from '../patch/reach.ts';
import type { TurnDiff } from '../patch/turn-diff.ts';
import { permissionsOf } from '../permissions.ts';
import type { ToolParts } from '../tools.ts';
import type { FileContents } from './contents.ts';
import { folderSnapshot } from './folder-snapshot.ts';
import { gitSnapshot, type SnapshotParts } from './git-snapshot.ts';
import type { Changes, Snapshot } from './snapshot.ts';

/** How long a look may take before the first command, after one, and when the turn has ended. */
const MAX_WAIT_MS = 3_000;
const MAX_LOOK_MS = 15_000;
const MAX_END_MS = 1_000;

/** After a look nobody looks again for so many times as long as it took: in a large folder commands must not wait for looks. */
const REST = 4;

/** Folders that are looked at. */
const MAX_ROOTS = 4;

export interface ChangesParts {
  readonly port: TurnPort;
  readonly tools: ToolParts;
  readonly diff: TurnDiff;
  /** Patches wait for a look, and looks for patches. */
  readonly lane: Mailbox;
  readonly contents: FileContents;
  /** Makes the diff know what the turn did before a restart. */
  readonly resumed: () => Promise<void>;
}

export class CommandChanges {
  readonly #parts: ChangesParts;
  readonly #signal: AbortSignal;
  #taken: Promise<readonly Snapshot[]> | undefined;
  #look: Promise<void> | undefined;
  readonly #over = new AbortController();
  #isWanted = false;
  #told = '';
  #leftOut = 0;
  #hasFailed = false;

  constructor(parts: ChangesParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
  }

  /** To be awaited before a command that may change files. Rejects as *cancelled* only. */
  async before(): Promise<void> {
    this.#taken ??= this.#take();
    await this.#taken;
  }

  /** To be called after one; it is looked beside the turn. Looks that are asked for meanwhile are one. */
  after(): void {
    if (!this.#taken) return;
    this.#isWanted = true;
    this.#look ??= this.#looks();
  }

  /**
   * The last look, when no call of the turn is under way any more; then frees what was kept. `mayHaveChanged`: what it has started
   * still runs. Never rejects.
   */
  async close(mayHaveChanged: boolean): Promise<void> {
    if (!this.#taken) return;
    this.#over.abort();
    if (mayHaveChanged) this.after();
    await this.#look;
    for (const snapshot of await this.#taken.catch(() => [])) await snapshot.close();
    this.#taken = undefined;
  }

  async #looks(): Promise<void> {
    const { clock } = this.#parts.tools;
    while (this.#isWanted) {
      this.#isWanted = false;
      const began = clock.elapsed();
      // It is looked again after the next one.
      await this.#parts.lane.run(() => this.#lookOnce()).catch(() => this.#warnOfFailure());
      const rest = (clock.elapsed() - began) * REST;
      if (!this.#over.signal.aborted) await sleep(clock, rest, this.#over.signal).catch(() => {});
    }
    this.#look = undefined; // without a pause after the last question whether one is wanted
  }

  async #lookOnce(): Promise<void> {
    const snapshots = (await this.#taken?.catch(() => [])) ?? [];
    const { diff, port, contents } = this.#parts;
    const found = await this.#inTime((signal) => Promise.all(snapshots.map((each) => each.changes(signal))));
    const files = found.flatMap((changes: Changes) => changes.files);
    const seen = new Set(files.map(({ path }) => path));
    diff.observe(files);
    for (const path of diff.paths) if (!seen.has(path)) diff.look(path, await contents.now(path));
    await this.#warn(found.reduce((sum, { leftOut }) => sum + leftOut, 0));
    const text = diff.text(port.settings().cwd);
    if (text === this.#told) return;
    this.#told = text;
    await port.append([{ type: 'turnDiffUpdated', turnId: port.turnId, diff: text }]);
  }

  /** What an interrupted command did is told as well, but nobody waits long for it. */
  async #inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock } = this.#parts.tools;
    const over = new AbortController();
    const timeUp = () => over.abort();
    const cancels = [clock.timer(MAX_LOOK_MS, timeUp)];
    const off = onAbort(this.#signal, () => cancels.push(clock.timer(MAX_END_MS, timeUp)));
    try {
      return await work(over.signal);
    } finally {
      off();
      for (const cancel of cancels) cancel();
    }
  }

  /** What a patch has made of the diff is told already. */
  told(text: string): void {
    this.#told = text;
  }

  async #warn(leftOut: number): Promise<void> {
    if (leftOut === 0 || this.#leftOut > 0) return;
    this.#leftOut = leftOut;
    await this.#say(`commands have changed very many files; ${leftOut} of them are not in the diff of this turn`);
  }

  /** Who interrupts does not wait for it, and knows. */
  async #warnOfFailure(): Promise<void> {
    if (this.#signal.aborted || this.#hasFailed) return;
    this.#hasFailed = true;
    await this.#say(
      'it could not be found out what a command has changed; the diff of this turn may be without it',
    ).catch(() => {});
  }

  async #say(message: string): Promise<void> {
    await this.#parts.port.append([{ type: 'warned', turnId: this.#parts.port.turnId, message }]);
  }

  async #take(): Promise<readonly Snapshot[]> {
    const { tools, port, contents, resumed, lane, diff } = this.#parts;
    await resumed();
    return lane.run(async () => {
      const reach = await reachOf(port.settings(), tools.hidden, port.isCapped(), permissionsOf(port));
      const parts: SnapshotParts = {
        ...{ children: tools.runner.children, environment: tools.environment, contents },
        ...{ leftovers: tools.commits.leftovers, folder: tools.looksFolder },
        isHidden: (path) => reach.standing(path) === 'hidden',
      };
      const over = new AbortController();
      const cancel = tools.clock.timer(MAX_WAIT_MS, () => over.abort());
      const signal = AbortSignal.any([this.#signal, over.signal]);
      diff.mark();
      try {
        const snapshots = (await this.#roots()).map((root) => snapshotOf(root, parts, signal));
        return (await Promise.all(snapshots)).flatMap((snapshot) => snapshot ?? []);
      } finally {
        cancel();
      }
    });
  }

  /** Where the turn works, none of them inside of another. */
  async #roots(): Promise<string[]> {
    const { cwd, workspaceRoots } = this.#parts.port.settings();
    const real = await Promise.all(
      [...new Set([cwd, ...workspaceRoots])].map((root) => realPathOf(root).catch(() => '/')),
    );
    const roots = [...new Set(real)].filter((root) => root !== '/');
    return roots.filter((root) => !roots.some((other) => other !== root && isWithin(root, other))).slice(0, MAX_ROOTS);
  }
}

/** Undefined: of this folder only patches are told, because it cannot be looked at, or not in time. */
async function snapshotOf(root: string, parts: SnapshotParts, signal: AbortSignal): Promise<Snapshot | undefined> {
  const ways = (await isInRepository(root)) ? [gitSnapshot, folderSnapshot] : [folderSnapshot];
  for (const way of ways) {
    try {
      return await way(root, parts, signal);
    } catch (error) {
      if (!isAppError(error)) throw error;
      if (error.kind === 'cancelled') return undefined;
    }
  }
  return undefined;
}

/** Without a program being started where there is none. */
async function isInRepository(root: string): Promise<boolean> {
  for (let folder = root; ; folder = dirname(folder)) {
    if (await exists(join(folder, '.git'))) return true;
    if (folder === dirname(folder)) return false;
  }
}

const exists = (path: string): Promise<boolean> =>
  new Promise((resolve) => lstat(path, (error) => resolve(error === null)));
