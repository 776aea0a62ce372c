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

/** Which hosts commands may reach by way of our proxy: names, `*.name` for those below it, `**.name` for both, `*` for all, addresses. */
export const NetworkRules = schema(() =>
  z.object({
    allow: z.array(z.string()),
    /** Goes before `allow`. */
    deny: z.array(z.string()),
    /** Only requests that read, and nothing that the proxy cannot look into. */
    isLimited: z.boolean(),
    /** Also where a name leads to this machine or a private network. */
    allowsLocal: z.boolean(),
  }),
);
export type NetworkRules = Infer<typeof NetworkRules>;

/** What a permission profile says beyond a sandbox policy. */
export const ProfileRules = schema(() =>
  z.object({
    /** Absolute paths that are neither shown nor written. */
    denied: z.array(z.string()),
    /** Absolute paths that are not written, also where they lie in what may be. */
    readOnly: z.array(z.string()),
    /** Of each folder that the thread works in, whichever those are by then; the paths are relative to it. */
    workspace: z.object({
      isReadOnly: z.boolean(),
      write: z.array(z.string()),
      readOnly: z.array(z.string()),
      denied: z.array(z.string()),
    }),
    /** What they match of that which is there when a command starts is denied as well. */
    patterns: z
      .object({
        /** Absolute. */
        denied: z.array(z.string()),
        /** Of each folder that the thread works in, relative to it. */
        workspace: z.array(z.string()),
        /** Levels of folders that are looked through; null: all. */
        depth: z.int().nullable(),
      })
      .optional(),
    /** Nothing else can be read, but what may be written. Absent: all that is not denied. */
    readable: z
      .object({
        /** Absolute. */
        paths: z.array(z.string()),
        /** Of each folder that the thread works in, relative to it; `.` is all of it. */
        workspace: z.array(z.string()),
        /** Also what programs of the system need. */
        isMinimal: z.boolean(),
      })
      .optional(),
    /** Null: as the policy says. */
    network: NetworkRules().nullable(),
  }),
);
export type ProfileRules = Infer<typeof ProfileRules>;

/** A sandbox policy as threads keep it; clients are shown it without the rules, and cannot send any. */
export const HeldPolicy = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('dangerFullAccess') }),
    z.object({ type: z.literal('readOnly'), networkAccess: z.boolean(), rules: ProfileRules().optional() }),
    z.object({ type: z.literal('externalSandbox'), networkAccess: z.enum(['restricted', 'enabled']) }),
    z.object({
      type: z.literal('workspaceWrite'),
      writableRoots: z.array(z.string()),
      networkAccess: z.boolean(),
      excludeTmpdirEnvVar: z.boolean(),
      excludeSlashTmp: z.boolean(),
      rules: ProfileRules().optional(),
    }),
  ]),
);
export type HeldPolicy = Infer<typeof HeldPolicy>;

export function rulesOf(policy: HeldPolicy): ProfileRules | undefined {
  return policy.type === 'readOnly' || policy.type === 'workspaceWrite' ? policy.rules : undefined;
}

/** As clients are shown it. */
export function shownPolicy(policy: HeldPolicy): SandboxPolicy {
  if (!rulesOf(policy)) return policy;
  const { rules: _, ...shown } = policy as Extract<HeldPolicy, { readonly rules?: unknown }>;
  return shown;
}

/** Commands reach something of the network. */
export function hasNetwork(policy: HeldPolicy): boolean {
  if (policy.type === 'dangerFullAccess') return true;
  if (policy.type === 'externalSandbox') return policy.networkAccess === 'enabled';
  return policy.networkAccess || (policy.rules?.network ?? null) !== null;
}

/** What is left of a policy when nothing may be written and nothing reached; what is denied stays so. */
export function readingOnly(policy: HeldPolicy): HeldPolicy {
  const plain = { type: 'readOnly', networkAccess: false } as const;
  const rules = rulesOf(policy);
  return rules ? { ...plain, rules: { ...rules, network: null } } : plain;
}

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
