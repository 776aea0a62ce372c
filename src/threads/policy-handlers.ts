// What the rules would say of a command or of files, for a thread as it is or for one that would start now.

import { resolve } from 'node:path';
import { explainCommand, explainFiles, explanationOf } from '../agent/explain.ts';
import type { ToolParts } from '../agent/tools.ts';
import type { Judged } from '../agent/verdicts.ts';
import { Grants } from '../approvals/grants.ts';
import { policyMethods } from '../approvals/methods.ts';
import type { Verdict } from '../approvals/rules.ts';
import { AppError } from '../base/errors.ts';
import { remoteNames } from '../fs/denials.ts';
import { shownPolicy } from '../model/policy.ts';
import type { Params } from '../rpc/declare.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import { createAccess } from './access.ts';
import type { ThreadRegistry } from './registry.ts';
import { type SettingsParts, settingsAfter, settingsOfStart } from './settings.ts';

export interface PolicyHandlerParts {
  readonly registry: ThreadRegistry;
  readonly settings: SettingsParts;
  readonly tools: Pick<ToolParts, 'prefixRules' | 'runner' | 'environment' | 'hidden'>;
}

export function policyHandlers({ registry, settings, tools }: PolicyHandlerParts): Route[] {
  const access = createAccess(registry);
  const judged = async (params: Params<typeof policyMethods.policyExplain>, context: Context): Promise<Judged> => {
    const { threadId, cwd, approvalPolicy, sandbox, sandboxPolicy } = params;
    const wishes = { cwd, approvalPolicy, sandbox, sandboxPolicy };
    const { session } = context;
    const { isLocal } = session.principal;
    if (threadId === undefined || threadId === null) {
      const { sandboxPolicy: _, ...start } = wishes;
      const begun = await settingsOfStart(start, session, settings);
      const after = await settingsAfter(begun, { sandboxPolicy }, session, settings);
      return { settings: () => after, grants: new Grants(), isCapped: () => !isLocal };
    }
    const { meta, runtime } = await access.stored(context, threadId);
    const after = await settingsAfter(meta.settings, wishes, session, settings);
    return { settings: () => after, grants: runtime?.grants ?? new Grants(), isCapped: () => !isLocal };
  };
  /** Where a path leads, and that there is something, is told to remote clients only of the folders that are theirs. */
  const checkFiles = async (files: readonly string[], cwd: string, { session }: Context): Promise<void> => {
    if (session.principal.isLocal) return;
    const mayName = await remoteNames(await settings.config.load());
    for (const file of files) {
      if (await mayName(resolve(cwd, file))) continue;
      throw new AppError('forbidden', `the file ${file} is beyond those that remote clients may have here`);
    }
  };
  return implement(policyMethods, {
    policyExplain: async (params, context) => {
      const turn = await judged(params, context);
      const { cwd, approvalPolicy, sandboxPolicy } = turn.settings();
      const common = { cwd, approvalPolicy, sandboxPolicy: shownPolicy(sandboxPolicy) };
      if (params.files) {
        await checkFiles(params.files, cwd, context);
        const { verdict, files } = await explainFiles(turn, tools, params.files);
        return { ...said(verdict), explanation: explanationOf(verdict), ...common, files: [...files] };
      }
      const wanted = { line: params.command ?? '', escalate: params.escalate ?? false };
      const { verdict, argv, prefix, onlyReads, unreadRules } = await explainCommand(turn, tools, wanted);
      const command = { argv: [...argv], prefix: [...prefix], onlyReads, unreadRules: [...unreadRules] };
      return { ...said(verdict), explanation: explanationOf(verdict), ...common, command };
    },
  });
}

const said = ({ decision, runs, rule }: Verdict) => ({ decision, runs, rule });
