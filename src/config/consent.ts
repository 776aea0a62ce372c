// How far the yes of a remote person reaches: no further than the operator lets remote threads go.

import type { Principal } from '../auth/principal.ts';
import type { Proposal } from '../model/approval.ts';
import { isWithin } from '../sandbox/policy.ts';
import type { Config } from './schema.ts';

/** Why an acceptance does not count, if it does not. Roots that are links themselves hold no file here. */
export function barredByCeiling(by: Principal, proposal: Proposal, remote: Config['remote']): string | undefined {
  // What asks was allowed to run already.
  if (proposal.kind === 'userInput' || proposal.kind === 'elicitation') return undefined;
  if (by.isLocal || remote.sandbox === 'danger-full-access') return undefined;
  if (proposal.kind === 'permissions' || hasMore(proposal))
    return 'remote clients may not let a thread do more than its sandbox allows here';
  if (proposal.kind === 'mcpToolCall') return 'remote clients may not let a tool run outside of the sandbox here';
  const isInside = proposal.sandbox === 'sandboxed';
  if (proposal.kind === 'command' || proposal.kind === 'terminalInput')
    return isInside ? undefined : 'remote clients may not let a command leave the sandbox here';
  const isBelowRoots = proposal.targets.every((path) => remote.roots.some((root) => isWithin(path, root)));
  return isInside && isBelowRoots && remote.sandbox === 'workspace-write'
    ? undefined
    : 'remote clients may not have these files changed here';
}

/** It is about a command that has more than its sandbox. */
const hasMore = (proposal: Proposal): boolean =>
  (proposal.kind === 'command' && proposal.permissions !== undefined) ||
  (proposal.kind === 'terminalInput' && proposal.hasMore === true);
