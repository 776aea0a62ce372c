// Shapes that several thread methods share.

import { z } from 'zod';
import { CollaborationMode } from '../model/collaboration.ts';
import { ApprovalPolicy, ApprovalsReviewer, SandboxPolicy } from '../model/policy.ts';
import { type Infer, schema } from '../model/schema.ts';
import { PermissionProfile, Personality, ReasoningSummary, Thread } from '../model/thread.ts';
import { Turn } from '../model/turn.ts';

/** What is sought, by its words or anywhere; a longer one costs more than it finds. */
export const SearchTerm = schema(() => z.string().max(256));

export const Environment = schema(() =>
  z.object({ environmentId: z.string(), cwd: z.string(), runtimeWorkspaceRoots: z.array(z.string()) }),
);

/** The settings of a thread as `thread/settings/updated` shows them. */
export const WireSettings = schema(() =>
  z.object({
    disabledPluginIds: z.array(z.string()),
    cwd: z.string(),
    environments: z.array(Environment()).nullable(),
    approvalPolicy: ApprovalPolicy(),
    approvalsReviewer: ApprovalsReviewer(),
    sandboxPolicy: SandboxPolicy(),
    activePermissionProfile: PermissionProfile().nullable(),
    model: z.string(),
    modelProvider: z.string(),
    serviceTier: z.string().nullable(),
    effort: z.string().nullable(),
    summary: ReasoningSummary().nullable(),
    collaborationMode: CollaborationMode(),
    multiAgentMode: z.literal('explicitRequestOnly'),
    personality: Personality().nullable(),
  }),
);
export type WireSettings = Infer<typeof WireSettings>;

/** What a start or resume adopted: authoritative for display. */
export const adopted = () => ({
  thread: Thread(),
  model: z.string(),
  modelProvider: z.string(),
  serviceTier: z.string().nullable(),
  disabledPluginIds: z.array(z.string()),
  cwd: z.string(),
  runtimeWorkspaceRoots: z.array(z.string()),
  instructionSources: z.array(z.string()),
  approvalPolicy: ApprovalPolicy(),
  approvalsReviewer: ApprovalsReviewer(),
  sandbox: SandboxPolicy(),
  activePermissionProfile: PermissionProfile().nullable(),
  reasoningEffort: z.string().nullable(),
  multiAgentMode: z.literal('explicitRequestOnly'),
});

export const TurnsPage = schema(() =>
  z.object({ data: z.array(Turn()), nextCursor: z.string().nullable(), backwardsCursor: z.string().nullable() }),
);
