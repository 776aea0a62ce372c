// The server's questions to clients, and the shapes of their answers.

import { z } from 'zod';
import { UserAnswers, UserQuestion } from '../model/approval.ts';
import { ElicitationForm } from '../model/elicitation.ts';
import { CommandAction, FileUpdateChange } from '../model/item.ts';
import { notification, request, unqueued } from '../rpc/declare.ts';

/** What is checked again when the effect starts, and until when. */
const evidence = {
  approvalId: z.string(),
  operationDigest: z.string(),
  policyDigest: z.string(),
  workspaceDigest: z.string(),
  nonce: z.string(),
  expiresAt: z.int(),
  /** What a yes puts at risk. */
  risk: z.object({ level: z.enum(['none', 'low', 'high']), text: z.string() }),
};

export const WireDecision = () =>
  z.union([
    z.enum(['accept', 'acceptForSession', 'decline', 'cancel']),
    z.strictObject({
      acceptWithExecpolicyAmendment: z.strictObject({ execpolicy_amendment: z.array(z.string()) }),
    }),
  ]);

export const commandApproval = request('item/commandExecution/requestApproval', {
  params: () =>
    z.object({
      kind: z.enum(['command', 'writeStdin']),
      threadId: z.string(),
      turnId: z.string(),
      itemId: z.string(),
      startedAtMs: z.int(),
      environmentId: z.string().nullable(),
      reason: z.string().optional(),
      command: z.string(),
      cwd: z.string(),
      commandActions: z.array(CommandAction()),
      additionalPermissions: WirePermissions().optional(),
      proposedExecpolicyAmendment: z.array(z.string()).optional(),
      availableDecisions: z.array(WireDecision()),
      approvalId: z.string().nullable(),
      heddle: z.object({
        ...evidence,
        sandbox: z.enum(['sandboxed', 'bare', 'unavailable']),
        onTerminal: z.literal(true).optional(),
        /** What would be typed into it. */
        stdin: z.string().optional(),
      }),
    }),
  result: () => z.object({ decision: WireDecision() }),
  queue: unqueued,
  needs: 'approval:resolve',
  mutates: false,
});

export const FileDecision = () => z.enum(['accept', 'acceptForSession', 'decline', 'cancel']);

export const fileChangeApproval = request('item/fileChange/requestApproval', {
  params: () =>
    z.object({
      threadId: z.string(),
      turnId: z.string(),
      itemId: z.string(),
      startedAtMs: z.int(),
      reason: z.string().nullable(),
      grantRoot: z.null(),
      availableDecisions: z.array(FileDecision()),
      heddle: z.object({
        ...evidence,
        changes: z.array(FileUpdateChange()),
        targets: z.array(z.string()),
        cwd: z.string(),
        rule: z.string(),
        sandbox: z.enum(['sandboxed', 'bare']),
      }),
    }),
  result: () => z.object({ decision: FileDecision() }),
  queue: unqueued,
  needs: 'approval:resolve',
  mutates: false,
});

const access = () => z.enum(['read', 'write', 'deny']);

const PathEntry = () => z.object({ path: z.object({ type: z.literal('path'), path: z.string() }), access: access() });

const FileEntry = () =>
  z.object({
    path: z.discriminatedUnion('type', [
      z.object({ type: z.literal('path'), path: z.string() }),
      z.object({ type: z.literal('glob_pattern'), pattern: z.string() }),
      z.object({ type: z.literal('special'), value: z.unknown() }),
    ]),
    access: access(),
  });

/** Beyond what the sandbox allows. `entries` says the same as `read` and `write`. */
export const WirePermissions = () =>
  z.object({
    network: z.object({ enabled: z.boolean().nullable() }).nullable(),
    fileSystem: z
      .object({
        read: z.array(z.string()).nullable(),
        write: z.array(z.string()).nullable(),
        entries: z.array(PathEntry()).optional(),
      })
      .nullable(),
  });

/** What is granted: members that are left out are not. */
export const WireGrant = () =>
  z.object({
    permissions: z.object({
      network: z.object({ enabled: z.boolean().nullish() }).nullish(),
      fileSystem: z
        .object({
          read: z.array(z.string()).nullish(),
          write: z.array(z.string()).nullish(),
          entries: z.array(FileEntry()).nullish(),
        })
        .nullish(),
    }),
    scope: z.enum(['turn', 'session']).default('turn'),
    strictAutoReview: z.boolean().nullish(),
  });

export const permissionsApproval = request('item/permissions/requestApproval', {
  params: () =>
    z.object({
      threadId: z.string(),
      turnId: z.string(),
      itemId: z.string(),
      environmentId: z.string().nullable(),
      startedAtMs: z.int(),
      cwd: z.string(),
      reason: z.string().nullable(),
      permissions: WirePermissions(),
      heddle: z.object(evidence),
    }),
  result: WireGrant,
  queue: unqueued,
  needs: 'approval:resolve',
  mutates: false,
});

export const userInputRequest = request('item/tool/requestUserInput', {
  params: () =>
    z.object({
      threadId: z.string(),
      turnId: z.string(),
      itemId: z.string(),
      questions: z.array(UserQuestion()),
      isBlocking: z.literal(true),
      autoResolutionMs: z.null(),
      heddle: z.object(evidence),
    }),
  result: UserAnswers,
  queue: unqueued,
  needs: 'approval:resolve',
  mutates: false,
});

/** What a person says to a form, an address to visit, or a tool call. */
export const ElicitationAnswer = () =>
  z.object({
    action: z.enum(['accept', 'decline', 'cancel']),
    content: z.record(z.string(), z.unknown()).nullish(),
    _meta: z.record(z.string(), z.unknown()).nullish(),
  });

const elicitation = {
  threadId: z.string(),
  turnId: z.string().nullable(),
  serverName: z.string(),
  environmentId: z.null(),
  _meta: z.record(z.string(), z.unknown()).nullable(),
  message: z.string(),
};

const ofElicitation = { ...evidence, itemId: z.string().nullable() };

/** A question of an MCP server to people, or one about a call of its tools, which `_meta` and `heddle` with a rule tell of. */
export const elicitationRequest = request('mcpServer/elicitation/request', {
  params: () =>
    z.discriminatedUnion('mode', [
      z.object({
        ...elicitation,
        mode: z.literal('form'),
        requestedSchema: ElicitationForm(),
        heddle: z
          .object({
            ...ofElicitation,
            /** Of a call: why people are asked, and that it runs outside of the sandbox. */
            rule: z.string().optional(),
            sandbox: z.literal('bare').optional(),
          })
          .optional(),
      }),
      z.object({
        ...elicitation,
        mode: z.literal('url'),
        url: z.string(),
        elicitationId: z.string(),
        heddle: z.object(ofElicitation).optional(),
      }),
    ]),
  result: ElicitationAnswer,
  queue: unqueued,
  needs: 'approval:resolve',
  mutates: false,
});

export const serverRequestResolved = notification('serverRequest/resolved', () =>
  z.object({ threadId: z.string(), requestId: z.union([z.int(), z.string()]) }),
);

export const approvalMessages = {
  commandApproval,
  fileChangeApproval,
  permissionsApproval,
  userInputRequest,
  elicitationRequest,
  serverRequestResolved,
};
