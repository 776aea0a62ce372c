// What the rules say of an effect in a thread as it is now: for the effect itself, and for whoever only wants to know.

import type { PrefixRules } from '../approvals/prefix-rules.ts';
import { decideCommand, decideFileChange, decidePermissions, type RunsAs, type Verdict } from '../approvals/rules.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import { fingerprint } from '../base/canonical.ts';
import { isKnownSafe } from '../children/read-only-commands.ts';
import type { ShellParser } from '../children/shell-line.ts';
import { realPathOf } from '../fs/containment.ts';
import type { Permissions } from '../model/approval.ts';
import type { RunnerParts } from '../process/runner.ts';
import { isInGrantedFolder, permissionsOf } from './permissions.ts';

/** What of a thread the rules look at. */
export type Judged = Pick<TurnPort, 'settings' | 'grants' | 'isCapped'>;

export interface JudgeParts {
  readonly prefixRules: PrefixRules;
  readonly runner: Pick<RunnerParts, 'sandbox'>;
}

/** A shell line that is about to be started. */
export interface Line {
  readonly line: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly escalate: boolean;
  /** It can be typed into. */
  readonly onTerminal?: boolean;
  /** What it would be given beyond the sandbox of the thread. */
  readonly permissions?: Permissions | undefined;
}

export async function decideLine(turn: Judged, parts: JudgeParts, shell: ShellParser, line: Line): Promise<Verdict> {
  const { approvalPolicy: policy, sandboxPolicy: sandbox } = turn.settings();
  const { isAvailable } = await parts.runner.sandbox();
  const runs: RunsAs = line.escalate ? 'bare' : isAvailable ? 'sandboxed' : 'unavailable';
  // What was accepted for others, once and for all, does not widen a turn that is held under the ceiling.
  const isHeld = turn.isCapped() && (runs !== 'sandboxed' || line.permissions !== undefined);
  const seen = shell.everyCommand(line.line);
  const said = await parts.prefixRules.decide({
    simple: shell.simpleCommands(line.line)?.map(({ argv }) => argv),
    all: seen.commands,
    isWhole: seen.isWhole,
    shell: line.argv,
  });
  const verdict = decideCommand(
    { escalate: line.escalate },
    {
      policy,
      sandbox,
      sandboxHolds: isAvailable,
      isGranted: !isHeld && turn.grants.has(await lineDigest(line, runs)),
      // A rule is about the command, not about what it would be given.
      prefixRule: said.decision === 'allow' && (isHeld || line.permissions) ? undefined : said.decision,
      justification: said.justification,
      mayLackRule: said.hasFaults && !isKnownSafe(shell, line.line),
    },
  );
  return line.permissions ? withPermissions(verdict, turn, line.permissions) : verdict;
}

/** What would have more than the thread has is asked about, and refused where it may not be asked for. */
function withPermissions(verdict: Verdict, turn: Judged, wanted: Permissions): Verdict {
  if (verdict.decision === 'deny' || verdict.runs !== 'sandboxed' || verdict.isAccepted) return verdict;
  if (holds(permissionsOf(turn), wanted)) return verdict;
  const more = decidePermissions(turn.settings().approvalPolicy, turn.isCapped());
  return verdict.decision === 'ask' && more.decision === 'ask' ? verdict : { ...more, runs: verdict.runs };
}

function holds(given: Permissions, wanted: Permissions): boolean {
  return (
    (given.network || !wanted.network) &&
    wanted.read.every((path) => given.read.includes(path) || given.write.includes(path)) &&
    wanted.write.every((path) => given.write.includes(path))
  );
}

/** The same for the same operation in the same place only, wherever the name of the folder leads by now. */
export async function lineDigest(line: Omit<Line, 'line' | 'escalate'>, runs: RunsAs): Promise<string> {
  const { argv, cwd, onTerminal, permissions } = line;
  const place = await realPathOf(cwd).catch(() => cwd);
  const more = { ...(onTerminal ? { onTerminal } : {}), ...(permissions ? { permissions } : {}) };
  return fingerprint({ argv, cwd, place, runs, ...more });
}

/** Files that are about to be changed, by real path. */
export interface Files {
  readonly paths: readonly string[];
  readonly standing: 'workspace' | 'outside' | 'hidden';
}

export function decideFiles(turn: Judged, { paths, standing }: Files): Verdict {
  const { approvalPolicy: policy, sandboxPolicy: sandbox } = turn.settings();
  // What was accepted for others does not widen a turn that is held under the ceiling.
  const isHeld = turn.isCapped() && !(sandbox.type === 'workspaceWrite' && standing === 'workspace');
  const { write } = permissionsOf(turn);
  const isGranted =
    !isHeld && paths.every((path) => turn.grants.has(changeDigest(path)) || isInGrantedFolder(path, write));
  return decideFileChange({ policy, sandbox, standing, isGranted });
}

/** Changes of this file, whatever they are. */
export const changeDigest = (path: string): string => fingerprint({ changes: path });
