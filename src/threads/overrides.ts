// Settings that a client may name for a thread or a turn, as members of the params.

import { z } from 'zod';
import { CollaborationMode } from '../model/collaboration.ts';
import { ApprovalPolicy, ApprovalsReviewer, SandboxMode, SandboxPolicy } from '../model/policy.ts';
import { freeJson, JsonObject, optional } from '../model/schema.ts';
import { Personality, ReasoningSummary } from '../model/thread.ts';

/** Characters of JSON that are kept with a thread, and so are written with each change of it. */
export const MAX_KEPT_JSON = 64 * 1024;

/** Characters of a title, which is shown in lists, and of what only has to be told from others. */
export const MAX_TITLE = 4_096;
export const MAX_NAME = 1_024;

const text = () => optional(z.string());
/** Of what exists under the name, which is shown with each thread. */
const name = () => optional(z.string().max(MAX_NAME));
const folder = () => optional(z.string().max(4_096));
/** Each is looked at for every command, and is a mount in its sandbox. */
export const MAX_FOLDERS = 256;
const folders = () => optional(z.array(z.string().max(4_096)).max(MAX_FOLDERS));

/** Named in thread/start, thread/resume and turn/start alike. */
const shared = () => ({
  model: name(),
  serviceTier: name(),
  cwd: folder(),
  runtimeWorkspaceRoots: folders(),
  approvalPolicy: optional(ApprovalPolicy()),
  approvalsReviewer: optional(ApprovalsReviewer()),
  permissions: name(),
  personality: optional(Personality()),
});

export const threadOverrides = () => ({
  ...shared(),
  modelProvider: name(),
  sandbox: optional(SandboxMode()),
  config: optional(freeJson(JsonObject())),
  baseInstructions: text(),
  developerInstructions: text(),
});

export const turnOverrides = () => ({
  ...shared(),
  /** Ours: another provider, e.g. in place of one that is gone. */
  modelProvider: name(),
  sandboxPolicy: optional(SandboxPolicy()),
  effort: name(),
  summary: optional(ReasoningSummary()),
  collaborationMode: optional(CollaborationMode()),
});

/** Of the one environment that there is; the first one counts. */
export const environments = () =>
  optional(
    z
      .array(
        z.object({
          environmentId: z.string(),
          cwd: folder(),
          runtimeWorkspaceRoots: folders(),
        }),
      )
      .max(MAX_FOLDERS),
  );

/** By source. `untrusted`: what the client has only found; `application`: its own words. */
export const additionalContext = () =>
  optional(
    z.record(
      z.string().max(256),
      z.object({ value: z.string(), kind: z.enum(['untrusted', 'application']), name: optional(z.string()) }),
    ),
  );

const threadShape = () => z.object(threadOverrides());
const turnShape = () => z.object(turnOverrides());
export type ThreadOverrides = z.output<ReturnType<typeof threadShape>>;
export type TurnOverrides = z.output<ReturnType<typeof turnShape>>;
