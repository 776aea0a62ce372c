// What a thread may do without asking, and what its commands may touch.

import { z } from 'zod';
import { type Infer, schema } from './schema.ts';

const GranularApproval = schema(() =>
  z.object({
    granular: z.object({
      sandbox_approval: z.boolean(),
      rules: z.boolean(),
      skill_approval: z.boolean().default(false),
      request_permissions: z.boolean().default(false),
      mcp_elicitations: z.boolean(),
    }),
  }),
);

export const ApprovalPolicy = schema(() => z.union([z.enum(['untrusted', 'on-request', 'never']), GranularApproval()]));
export type ApprovalPolicy = Infer<typeof ApprovalPolicy>;

export const ApprovalsReviewer = schema(() => z.enum(['user', 'auto_review', 'guardian_subagent']));
export type ApprovalsReviewer = Infer<typeof ApprovalsReviewer>;

export const SandboxMode = schema(() => z.enum(['read-only', 'workspace-write', 'danger-full-access']));
export type SandboxMode = Infer<typeof SandboxMode>;

export const SandboxPolicy = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('dangerFullAccess') }),
    z.object({ type: z.literal('readOnly'), networkAccess: z.boolean().default(false) }),
    z.object({
      type: z.literal('externalSandbox'),
      networkAccess: z.enum(['restricted', 'enabled']).default('restricted'),
    }),
    z.object({
      type: z.literal('workspaceWrite'),
      writableRoots: z.array(z.string()).default([]),
      networkAccess: z.boolean().default(false),
      excludeTmpdirEnvVar: z.boolean().default(false),
      excludeSlashTmp: z.boolean().default(false),
    }),
  ]),
);
export type SandboxPolicy = Infer<typeof SandboxPolicy>;

/** The policy that a mode stands for, before configuration adds roots and network. */
export function sandboxPolicyOf(mode: SandboxMode): SandboxPolicy {
  switch (mode) {
    case 'danger-full-access':
      return { type: 'dangerFullAccess' };
    case 'read-only':
      return { type: 'readOnly', networkAccess: false };
    case 'workspace-write':
      return {
        type: 'workspaceWrite',
        writableRoots: [],
        networkAccess: false,
        excludeTmpdirEnvVar: false,
        excludeSlashTmp: false,
      };
  }
}
