// A command of the user in a thread: answered when it is stored, run after that.

import { AppError } from '../base/errors.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { ThreadRegistry } from './registry.ts';
import { checkMayRun, type SettingsParts } from './settings.ts';
import { shellMethods } from './shell-methods.ts';

export interface ShellHandlerParts {
  readonly registry: ThreadRegistry;
  readonly settings: SettingsParts;
}

export function shellHandlers({ registry, settings }: ShellHandlerParts): Route[] {
  return implement(shellMethods, {
    threadShellCommand: async ({ threadId, command, timeoutMs }, context) => {
      const { principal } = context.session;
      if (command.trim() === '') throw new AppError('invalid', 'command must not be empty', { threadId });
      if (timeoutMs && timeoutMs < 0)
        throw new AppError('invalid', `timeoutMs must be non-negative, got ${timeoutMs}`, { threadId });
      const runtime = await registry.load(principal.tenant, threadId);
      const { archived, settings: current } = runtime.meta;
      if (archived) throw new AppError('conflict', `thread ${threadId} is archived: unarchive it first`, { threadId });
      if (!current.hasEnvironment)
        throw new AppError('conflict', 'this thread has no environment to run commands in', { threadId });
      await checkMayRun(current, principal, settings);
      const release = runtime.hold();
      let begin = () => {};
      context.afterReply(() => {
        release();
        begin();
      });
      const reply = {};
      begin = await runtime.startShell({ line: command, timeoutMs: timeoutMs ?? undefined }, context.once(reply));
      return reply;
    },
  });
}
