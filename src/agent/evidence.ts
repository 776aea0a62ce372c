// What a question was asked under, as digests, and whether it still holds when the effect starts.

import { fingerprint } from '../base/canonical.ts';
import type { Proposal } from '../model/approval.ts';
import type { ThreadSettings } from '../model/thread.ts';

type Digests = Pick<Proposal, 'policyDigest' | 'workspaceDigest'>;

export function policyDigests(settings: ThreadSettings): Digests {
  return {
    policyDigest: fingerprint([settings.approvalPolicy, settings.sandboxPolicy]),
    workspaceDigest: fingerprint([settings.cwd, settings.workspaceRoots]),
  };
}

export function isPolicyAsShown(shown: Digests, settings: ThreadSettings): boolean {
  const now = policyDigests(settings);
  return shown.policyDigest === now.policyDigest && shown.workspaceDigest === now.workspaceDigest;
}
