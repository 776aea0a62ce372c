// Reading the configuration, and the notice that it cannot be used.

import { z } from 'zod';
import { ApprovalPolicy, ApprovalsReviewer, SandboxMode } from '../model/policy.ts';
import { JsonObject, schema } from '../model/schema.ts';
import { notification, request, unqueued } from '../rpc/declare.ts';

const LayerName = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('user'), file: z.string(), profile: z.null() }),
    z.object({ type: z.literal('sessionFlags') }),
  ]),
);

/** What clients know by name; any further setting may stand beside. */
const ShownConfig = schema(() =>
  z.looseObject({
    model: z.string().nullable(),
    review_model: z.null(),
    model_context_window: z.number().nullable(),
    model_auto_compact_token_limit: z.number().nullable(),
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
      origins: z.record(z.string(), z.object({ name: LayerName(), version: z.string() })),
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

export const configRequirementsRead = request('configRequirements/read', {
  params: () => z.object({}),
  result: () => z.object({ supportsIndependentSpeedModes: z.boolean().nullable(), requirements: z.null() }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
});

export const configMethods = { configRead, configRequirementsRead };

const TextPosition = schema(() => z.object({ line: z.number(), column: z.number() }));

/** Lines and columns count from 1. */
export const configWarning = notification('configWarning', () =>
  z.object({
    summary: z.string(),
    details: z.string().nullable(),
    path: z.string().optional(),
    range: z.object({ start: TextPosition(), end: TextPosition() }).optional(),
  }),
);
