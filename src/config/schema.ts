// What may be configured: names as `config/read` shows them, kinds, limits and defaults. Unknown keys are kept.

import { z } from 'zod';
import { ApprovalPolicy, SandboxMode } from '../model/policy.ts';
import { type Infer, schema } from '../model/schema.ts';

/** Ten years: beyond it a time limit says nothing. */
const MAX_SECONDS = 315_360_000;

const absolutePath = () =>
  z.string().refine((path) => /^(?:\/|[A-Za-z]:[\\/])/.test(path), { message: 'expected an absolute path' });
const unset = <T extends z.ZodType>(inner: T) => inner.nullable().default(null);
const texts = () => z.record(z.string(), z.string());
const seconds = (fallback: number) => z.int().min(1).max(MAX_SECONDS).default(fallback);
/** A day: a timer does not take much more. */
const MAX_TIMEOUT_SECONDS = 86_400;
const timeout = () => z.number().positive().max(MAX_TIMEOUT_SECONDS).optional();
const retries = () => z.int().min(0).max(100).optional();

/** What is known of a model of a provider; the rest is asked from the provider, or assumed. */
const ModelEntry = schema(() =>
  z.looseObject({
    name: z.string().optional(),
    description: z.string().optional(),
    context_window: z.int().min(1).optional(),
    modalities: z.array(z.enum(['text', 'image', 'audio'])).optional(),
    efforts: z.array(z.string()).optional(),
    default_effort: z.string().optional(),
    hidden: z.boolean().optional(),
  }),
);

export const ModelProviderEntry = schema(() =>
  z.looseObject({
    name: z.string().optional(),
    base_url: z.url({ protocol: /^https?$/ }).optional(),
    wire_api: z.enum(['responses', 'chat', 'anthropic']).optional(),
    custom_tools: z.boolean().optional(),
    /** Its answers can be held to a schema. */
    output_schemas: z.boolean().optional(),
    /** Its models are offered tools to read files and look through them. */
    file_tools: z.boolean().optional(),
    /** It tells which models it has. */
    list_models: z.boolean().optional(),
    models: z.record(z.string(), ModelEntry()).optional(),
    env_key: z.string().optional(),
    http_headers: texts().optional(),
    query_params: texts().optional(),
    request_max_retries: retries(),
    stream_max_retries: retries(),
    stream_idle_timeout_ms: z.int().min(1).max(86_400_000).optional(),
  }),
);
export type ModelProviderEntry = Infer<typeof ModelProviderEntry>;

const ToolApproval = () => z.enum(['auto', 'prompt', 'approve']);

/** A program (`command`) or an address (`url`). Secrets are named by the environment variables that hold them. */
export const McpServerEntry = schema(() =>
  z.looseObject({
    command: z.string().min(1).optional(),
    args: z.array(z.string()).optional(),
    env: texts().optional(),
    /** Variables of the server's own environment that the program gets too. */
    env_vars: z.array(z.string()).optional(),
    cwd: z.string().optional(),
    url: z.url({ protocol: /^https?$/ }).optional(),
    http_headers: texts().optional(),
    /** Headers whose values are in environment variables. */
    env_http_headers: texts().optional(),
    bearer_token_env_var: z.string().optional(),
    /** Where a document says who we are, for servers at which one logs in without a registration of each client. */
    oauth_client_metadata_url: z.url({ protocol: /^https$/ }).optional(),
    enabled: z.boolean().optional(),
    required: z.boolean().optional(),
    startup_timeout_sec: timeout(),
    startup_timeout_ms: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_SECONDS * 1000)
      .optional(),
    tool_timeout_sec: timeout(),
    enabled_tools: z.array(z.string()).optional(),
    disabled_tools: z.array(z.string()).optional(),
    default_tools_approval_mode: ToolApproval().optional(),
    tools: z.record(z.string(), z.looseObject({ approval_mode: ToolApproval().optional() })).optional(),
  }),
);
export type McpServerEntry = Infer<typeof McpServerEntry>;

const SandboxWorkspaceWrite = schema(() =>
  z.looseObject({
    writable_roots: z.array(absolutePath()).default([]),
    network_access: z.boolean().default(false),
    exclude_tmpdir_env_var: z.boolean().default(false),
    exclude_slash_tmp: z.boolean().default(false),
  }),
);

/** Skills that are switched off, or on again, by the path of their SKILL.md or by name; the last entry that fits decides. */
const SkillSettings = schema(() =>
  z.looseObject({
    config: z
      .array(z.looseObject({ path: absolutePath().optional(), name: z.string().optional(), enabled: z.boolean() }))
      .max(1_000)
      .default([]),
  }),
);

/** The widest that a remote principal's threads may be given. */
const RemoteCeiling = schema(() =>
  z.looseObject({
    roots: z.array(absolutePath()).default([]),
    sandbox: SandboxMode().default('read-only'),
    approvals: ApprovalPolicy().default('on-request'),
  }),
);

/**
 * Archived threads are kept for so many days after their last turn, and the newest of them up to so many MiB of records. Of
 * each thread, events are kept whole for so many days, and the newest of them up to so many MiB.
 */
const Retention = schema(() =>
  z.looseObject({
    archived_days: unset(z.int().min(1).max(36_500)),
    archived_mib: unset(z.int().min(1).max(1_048_576)),
    events_days: unset(z.int().min(1).max(36_500)),
    events_mib: unset(z.int().min(1).max(1_048_576)),
  }),
);

/** What ends a turn by itself; seconds are wall time, also while people are asked. Goals have their own tokens. */
const Budgets = schema(() =>
  z.looseObject({
    turn_tokens: unset(z.int().min(1)),
    turn_seconds: unset(z.int().min(1).max(MAX_SECONDS)),
    goal_tokens: unset(z.int().min(1)),
    goal_seconds: unset(z.int().min(1).max(MAX_SECONDS)),
  }),
);

/** What is off unless it is switched on; other names are kept and do nothing. */
const Features = schema(() => z.looseObject({ apply_patch_streaming_events: z.boolean().default(false) }));

export const Config = schema(() =>
  z.looseObject({
    backend: unset(z.enum(['mock', 'unavailable', 'runtime', 'external'])),
    model: unset(z.string()),
    model_provider: unset(z.string()),
    /** Which model reviews; the thread's own where none is named. */
    review_model: unset(z.string()),
    model_providers: z.record(z.string(), ModelProviderEntry()).default({}),
    /** By the names that tools are called with. */
    mcp_servers: z.record(z.string(), McpServerEntry()).default({}),
    /** Where log-ins at them are kept: the keyring of the system or a file (0600); `auto`: the file where there is no keyring. */
    mcp_oauth_credentials_store: z.enum(['auto', 'file', 'keyring']).default('auto'),
    model_context_window: unset(z.int().min(1)),
    /** Tokens of the model's view from which on it is summarised before the model is asked again. */
    model_auto_compact_token_limit: unset(z.int().min(1)),
    model_reasoning_effort: unset(z.string()),
    model_reasoning_summary: unset(z.enum(['auto', 'concise', 'detailed', 'none'])),
    service_tier: unset(z.string()),
    approval_policy: unset(ApprovalPolicy()),
    /** Approvals are answered by people; who counts on another reviewer is told at the start. */
    approvals_reviewer: unset(z.literal('user')),
    /** What becomes of a client's wish for another reviewer: it is refused, or people are asked all the same. */
    other_reviewers: z.enum(['refuse', 'people']).default('refuse'),
    sandbox_mode: unset(SandboxMode()),
    sandbox_workspace_write: SandboxWorkspaceWrite().prefault({}),
    /** The name of a permission profile; `sandbox_mode` goes before it. */
    default_permissions: unset(z.string()),
    /** Permission profiles by name: which paths and hosts commands are given. Each is read when it is chosen. */
    permissions: z.record(z.string(), z.unknown()).default({}),
    /** Replaces the built-in instructions of the agent. */
    instructions: unset(z.string()),
    developer_instructions: unset(z.string()),
    /** Bytes that are read of a project's AGENTS.md files, and other names that such files may have. */
    project_doc_max_bytes: z.int().min(0).max(1_048_576).default(32_768),
    project_doc_fallback_filenames: z
      .array(z.string().regex(/^[^/\\\0]+$/))
      .max(16)
      .default([]),
    /** What `turn/start` does while a turn runs. */
    busy_turn_start: z.enum(['reject', 'steer', 'queue']).default('reject'),
    /** What becomes of a question when nobody is connected to answer it. */
    unattended: z.enum(['wait', 'decline']).default('wait'),
    approval_timeout_seconds: seconds(86_400),
    /** How long a client may take to run a tool that it declared. */
    client_tool_timeout_seconds: seconds(1_800),
    /** How long a thread that nobody listens to stays loaded. */
    idle_unload_seconds: seconds(1_800),
    /** What is deleted by itself; nothing unless it is said here. */
    retention: Retention().prefault({}),
    budgets: Budgets().prefault({}),
    remote: RemoteCeiling().prefault({}),
    features: Features().prefault({}),
    skills: SkillSettings().prefault({}),
    projects: z
      .record(z.string(), z.looseObject({ trust_level: z.enum(['trusted', 'untrusted']).optional() }))
      .default({}),
  }),
);
export type Config = Infer<typeof Config>;

/**
 * Whether settings are a configuration. Without the code that zod would compile for it: that takes longer than a process, which
 * reads its settings when it starts, gains by it.
 */
export const checkConfig = (settings: unknown) => Config().safeParse(settings, { jitless: true });
