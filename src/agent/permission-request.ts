// A model asks for more than the sandbox allows: decided about, asked about, and granted as far as people say.

import { resolve } from 'node:path';
import { NO_PERMISSIONS } from '../approvals/grants.ts';
import { decidePermissions } from '../approvals/rules.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import { fingerprint } from '../base/canonical.ts';
import { codeOf, isAppError, messageOf } from '../base/errors.ts';
import { isBelow, realPathOf } from '../fs/containment.ts';
import type { PermissionGrant, Permissions, ProposalOf } from '../model/approval.ts';
import { type ItemId, newId } from '../model/ids.ts';
import type { PermissionReply, PermissionWish } from './backend.ts';
import { isPolicyAsShown, policyDigests } from './evidence.ts';
import { reachOf } from './patch/reach.ts';
import type { ToolParts } from './tools.ts';

type Proposed = ProposalOf<'permissions'>;

/** Settles when it is known what was granted; that holds from then on. Rejects as *cancelled* when the signal aborts. */
export async function requestPermissions(
  port: TurnPort,
  parts: ToolParts,
  callId: ItemId,
  wish: PermissionWish,
  signal: AbortSignal,
): Promise<PermissionReply> {
  const { approvalPolicy } = port.settings();
  const standing = port.standing(callId)?.proposal;
  if (standing?.kind === 'permissions') return ask(port, parts, standing, signal, true);
  const verdict = decidePermissions(approvalPolicy, port.isCapped());
  if (verdict.decision === 'deny') return refuse(port, verdict.rule);
  const wanted = await wantedPermissions(port, parts, wish);
  if ('problem' in wanted) return refuse(port, wanted.problem);
  return ask(port, parts, proposalFor(port, parts, callId, wish.reason, wanted), signal, false);
}

async function ask(
  port: TurnPort,
  parts: ToolParts,
  proposal: Proposed,
  signal: AbortSignal,
  isStored: boolean,
): Promise<PermissionReply> {
  const answer = await parts.broker.ask(port, proposal, signal, { isStored });
  if ('refusedBecause' in answer) return nothing(answer.refusedBecause);
  if (port.isCapped() || !isPolicyAsShown(proposal, port.settings()))
    return refuse(port, 'what the thread may do has changed since it was asked');
  const { permissions, scope } = answer.decision;
  port.grants.grant(permissions, scope);
  return answer.decision;
}

/** People see what was refused without a question, not only the model. */
async function refuse(port: TurnPort, reason: string): Promise<PermissionReply> {
  const message = `a request for permissions was refused: ${reason}`;
  await port.append([{ type: 'warned', turnId: port.turnId, message, isRefusal: true }]);
  return nothing(reason);
}

const nothing = (refusedBecause: string): PermissionGrant & { refusedBecause: string } => ({
  permissions: NO_PERMISSIONS,
  scope: 'turn',
  refusedBecause,
});

/** With real paths, so that what is shown is where it leads. What nobody may see or change is not asked for. */
export async function wantedPermissions(
  port: TurnPort,
  parts: Pick<ToolParts, 'hidden' | 'writableRoots'>,
  wish: Pick<PermissionWish, 'network' | 'read' | 'write'>,
): Promise<Permissions | { readonly problem: string }> {
  const settings = port.settings();
  if (!settings.hasEnvironment) return { problem: 'this thread has no environment' };
  const reach = await reachOf(settings, parts.hidden, port.isCapped(), 'askable');
  const places = async (paths: readonly string[]): Promise<string[]> => {
    const real = await Promise.all(paths.map((path) => realPathOf(resolve(settings.cwd, path))));
    return [...new Set(real)];
  };
  try {
    const [read, write] = await Promise.all([places(wish.read), places(wish.write)]);
    const hidden = [...read, ...write].find((path) => reach.standing(path) === 'hidden');
    if (hidden !== undefined) return { problem: `${hidden} is out of reach for this thread` };
    for (const path of parts.writableRoots ? write : [])
      if (!(await isBelow(path, parts.writableRoots ?? [])))
        return { problem: `the administrator lets nothing be written to ${path}` };
    return { network: wish.network, read, write };
  } catch (error) {
    if (isAppError(error) || codeOf(error) !== undefined) return { problem: messageOf(error) };
    throw error;
  }
}

function proposalFor(
  port: TurnPort,
  parts: ToolParts,
  callId: ItemId,
  reason: string | null,
  permissions: Permissions,
): Proposed {
  const settings = port.settings();
  const now = parts.clock.now();
  return {
    id: newId(),
    kind: 'permissions',
    turnId: port.turnId,
    itemId: callId,
    callId,
    cwd: settings.cwd,
    reason,
    permissions,
    operationDigest: fingerprint({ permissions }),
    ...policyDigests(settings),
    nonce: newId(),
    startedAtMs: now,
    expiresAtMs: now + parts.approvalLifeMs(),
  };
}
