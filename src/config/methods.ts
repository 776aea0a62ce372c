// Reading and writing the configuration, and the notice that something is wrong with it.

import { z } from 'zod';
import { ApprovalPolicy, ApprovalsReviewer, SandboxMode } from '../model/policy.ts';
import { JsonObject, JsonValue, schema } from '../model/schema.ts';
import { notification, request, unqueued } from '../rpc/declare.ts';

const LayerName = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('user'), file: z.string(), profile: z.null() }),
    z.object({ type: z.literal('project'), dotCodexFolder: z.string() }),
    z.object({ type: z.literal('sessionFlags') }),
    z.object({ type: z.literal('enterpriseManaged'), id: z.string(), name: z.string() }),
  ]),
);

const LayerMetadata = schema(() => z.object({ name: LayerName(), version: z.string() }));

/** What clients know by name; any further setting may stand beside. */
const ShownConfig = schema(() =>
  z.looseObject({
    model: z.string().nullable(),
    review_model: z.null(),
    model_context_window: z.int().nullable(),
    model_auto_compact_token_limit: z.int().nullable(),
    model_auto_compact_token_limit_scope: z.null(),
    model_provider: z.string().nullable(),
    approval_policy: ApprovalPolicy().nullable(),
    approvals_reviewer: ApprovalsReviewer().nullable(),
    sandbox_mode: SandboxMode().nullable(),
    sandbox_workspace_write: z.looseObject({}).nullable(),
    instructions: z.string().nullable(),
    developer_instructions: z.string().nullable(),
    model_reasoning_effort: z.string().nullable(),
    model_reasoning_summary: z.enum(['auto', 'concise', 'detailed', 'none']).nullable(),
    service_tier: z.string().nullable(),
    projects: z.record(z.string(), z.looseObject({ trust_level: z.enum(['trusted', 'untrusted']).optional() })),
  }),
);

export const configRead = request('config/read', {
  params: () => z.object({ includeLayers: z.boolean().nullish(), cwd: z.string().nullish() }),
  result: () =>
    z.object({
      config: ShownConfig(),
      origins: z.record(z.string(), LayerMetadata()),
      layers: z
        .array(
          z.object({
            name: LayerName(),
            version: z.string(),
            config: JsonObject(),
            disabledReason: z.string().nullable(),
          }),
        )
        .nullable(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

/** What the administrator requires; null where nothing is. */
const Requirements = schema(() =>
  z.looseObject({
    /** A granular policy that always asks stands for any granular one. */
    allowedApprovalPolicies: z.array(ApprovalPolicy()).nullable(),
    allowedSandboxModes: z.array(SandboxMode()).nullable(),
    allowedPermissionProfiles: z.record(z.string(), z.boolean()).nullable(),
    modelProvider: z.string().nullable(),
  }),
);

export const configRequirementsRead = request('configRequirements/read', {
  params: () => z.object({}),
  result: () =>
    z.object({ supportsIndependentSpeedModes: z.boolean().nullable(), requirements: Requirements().nullable() }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
});

const Edit = schema(() =>
  z.object({
    /** Dotted; segments that hold dots stand in double quotes. */
    keyPath: z.string(),
    /** Null takes the setting away. */
    value: JsonValue(),
    mergeStrategy: z.enum(['replace', 'upsert']),
  }),
);

/** Which file, and whether it is still the one that was read. */
const target = () => ({ filePath: z.string().nullish(), expectedVersion: z.string().nullish() });

const WriteResult = schema(() =>
  z.object({
    /** `okOverridden`: written, and something above the file says otherwise. */
    status: z.enum(['ok', 'okOverridden']),
    version: z.string(),
    filePath: z.string(),
    overriddenMetadata: z
      .object({ message: z.string(), overridingLayer: LayerMetadata(), effectiveValue: z.unknown() })
      .nullable(),
    /** Loaded threads of the tenant: they keep the settings that they started with. */
    frozenThreads: z.array(z.string()),
  }),
);

/** Writes are made one after another, whoever asks for them. */
const writing = { queue: () => ({ key: 'config' }), needs: 'config', mutates: 'effect' } as const;

export const configValueWrite = request('config/value/write', {
  params: () => z.object({ ...Edit().shape, ...target() }),
  result: WriteResult,
  ...writing,
});

/** All of the edits, or none. */
export const configBatchWrite = request('config/batchWrite', {
  params: () => z.object({ edits: z.array(Edit()).max(1000), ...target(), reloadUserConfig: z.boolean().nullish() }),
  result: WriteResult,
  ...writing,
});

export const configMethods = { configRead, configRequirementsRead, configValueWrite, configBatchWrite };

const TextPosition = schema(() => z.object({ line: z.int().min(0), column: z.int().min(0) }));

/** Lines and columns count from 1. */
export const configWarning = notification('configWarning', () =>
  z.object({
    summary: z.string(),
    details: z.string().nullable(),
    path: z.string().optional(),
    range: z.object({ start: TextPosition(), end: TextPosition() }).optional(),
  }),
);
