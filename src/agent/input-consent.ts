// What a model types into a running command: decided about as the command itself was, since it can be any command.

import { decideInput } from '../approvals/rules.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import { fingerprint } from '../base/canonical.ts';
import type { ProposalOf } from '../model/approval.ts';
import { type ItemId, newId } from '../model/ids.ts';
import { consentOf, noLongerShown, type Refusal } from './consent.ts';
import { isPolicyAsShown, policyDigests } from './evidence.ts';
import { type CommandSession, isHarmless } from './session.ts';
import type { ToolParts } from './tools.ts';

/** Undefined: it may be typed. Rejects as *cancelled* when the signal aborts. */
export async function refusalOfInput(
  port: TurnPort,
  parts: ToolParts,
  session: CommandSession,
  callId: ItemId,
  chars: string,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const barred = session.barredFor(port, chars);
  if (barred !== undefined) return { reason: barred, endsTurn: false };
  if (isHarmless(chars) || !session.isRunning) return undefined;
  const { approvalPolicy: policy, sandboxPolicy: sandbox } = port.settings();
  const isGranted = !port.isCapped() && port.grants.has(typingInto(session));
  const verdict = decideInput(session, { policy, sandbox, isGranted });
  if (verdict.decision === 'allow') return undefined;
  if (verdict.decision === 'deny') return { reason: verdict.rule, endsTurn: false };
  const proposal = proposalFor(port, parts, session, callId, chars);
  const gone = session.ended;
  const consent = consentOf(await parts.broker.ask(port, proposal, signal, { isStored: false, gone }));
  // Of a command that has ended the model reads the end.
  if ('refusal' in consent) return session.isRunning || consent.refusal.endsTurn ? consent.refusal : undefined;
  if (!session.isRunning) return undefined;
  if (!isPolicyAsShown(proposal, port.settings()) || session.barredFor(port, chars)) return noLongerShown('run');
  if (consent.accepted === 'acceptForSession') port.grants.add(typingInto(session), 'session');
  return undefined;
}

/** Anything, as long as this command runs. */
const typingInto = ({ item }: CommandSession): string => fingerprint({ typingInto: item.id });

function proposalFor(
  port: TurnPort,
  parts: ToolParts,
  { item, runs, hasMore }: CommandSession,
  callId: ItemId,
  chars: string,
): ProposalOf<'terminalInput'> {
  const now = parts.clock.now();
  return {
    id: newId(),
    kind: 'terminalInput',
    turnId: port.turnId,
    itemId: callId,
    callId,
    commandItemId: item.id,
    command: item.command,
    session: item.processId ?? '',
    chars,
    cwd: item.cwd,
    reason: null,
    sandbox: runs,
    ...(hasMore ? { hasMore: true as const } : {}),
    operationDigest: fingerprint({ item: item.id, chars }),
    ...policyDigests(port.settings()),
    nonce: newId(),
    startedAtMs: now,
    expiresAtMs: now + parts.approvalLifeMs(),
  };
}
