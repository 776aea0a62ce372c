// What would be decided about an effect in a thread, without having it: the same rules, and in words why.

import { resolve } from 'node:path';
import type { Verdict } from '../approvals/rules.ts';
import { AppError, codeOf, isAppError, messageOf } from '../base/errors.ts';
import { isKnownSafe } from '../children/read-only-commands.ts';
import { proposedAmendment, shellCommand } from '../children/shell-command.ts';
import { loadShellParser } from '../children/shell-line.ts';
import { realPathOf } from '../fs/containment.ts';
import { reachOf, type Standing } from './patch/reach.ts';
import { permissionsOf } from './permissions.ts';
import type { ToolParts } from './tools.ts';
import { decideFiles, decideLine, type Judged } from './verdicts.ts';

type ExplainParts = Pick<ToolParts, 'prefixRules' | 'runner' | 'environment' | 'hidden'>;

export interface CommandExplanation {
  readonly verdict: Verdict;
  readonly argv: readonly string[];
  /** What a remembered rule would have to allow. */
  readonly prefix: readonly string[];
  readonly onlyReads: boolean;
  /** What of the rules file cannot be read, with its place, for people. */
  readonly unreadRules: readonly string[];
}

export async function explainCommand(
  turn: Judged,
  parts: ExplainParts,
  { line, escalate }: { readonly line: string; readonly escalate: boolean },
): Promise<CommandExplanation> {
  const shell = await loadShellParser();
  const argv = shellCommand(line, parts.environment.SHELL);
  const { cwd, hasEnvironment } = turn.settings();
  const verdict: Verdict = hasEnvironment
    ? await decideLine(turn, parts, shell, { line, argv, cwd, escalate })
    : { decision: 'deny', runs: 'sandboxed', rule: 'this thread has no environment to run commands in' };
  const [prefix, onlyReads] = [proposedAmendment(shell, line), isKnownSafe(shell, line)];
  return { verdict, argv, prefix, onlyReads, unreadRules: await parts.prefixRules.faults() };
}

export interface FilesExplanation {
  readonly verdict: Verdict;
  /** With real paths. */
  readonly files: readonly { readonly path: string; readonly standing: Standing }[];
}

/** Rejects as *invalid* when it cannot be told where a path leads. */
export async function explainFiles(
  turn: Judged,
  parts: ExplainParts,
  given: readonly string[],
): Promise<FilesExplanation> {
  const settings = turn.settings();
  const reach = await reachOf(settings, parts.hidden, turn.isCapped(), permissionsOf(turn));
  const files = await Promise.all(
    given.map(async (path) => {
      const real = await placeOf(resolve(settings.cwd, path));
      return { path: real, standing: reach.standing(real) };
    }),
  );
  const standings = files.map((file) => file.standing);
  const standing = (['hidden', 'outside'] as const).find((each) => standings.includes(each)) ?? 'workspace';
  return { verdict: decideFiles(turn, { paths: files.map(({ path }) => path), standing }), files };
}

async function placeOf(path: string): Promise<string> {
  try {
    return await realPathOf(path);
  } catch (error) {
    if (isAppError(error) || codeOf(error) !== undefined) throw new AppError('invalid', messageOf(error));
    throw error;
  }
}

const WORDS: Readonly<Record<Verdict['decision'], string>> = {
  allow: 'It would be done without a question',
  ask: 'People would be asked first',
  deny: 'It would be refused',
};

const RUNS: Readonly<Record<Verdict['runs'], string>> = {
  sandboxed: 'inside the sandbox',
  bare: 'outside the sandbox',
  unavailable: 'without a sandbox, because this host has none that holds',
};

/** The verdict as a sentence for people. */
export function explanationOf({ decision, runs, rule }: Verdict): string {
  return `${WORDS[decision]}: ${rule}.${decision === 'deny' ? '' : ` It would happen ${RUNS[runs]}.`}`;
}
