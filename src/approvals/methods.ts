// The permission profiles that a thread can be given, the questions that stand, and what the rules say.

import { z } from 'zod';
import { PendingApproval } from '../model/approval.ts';
import { ApprovalPolicy, SandboxMode, SandboxPolicy } from '../model/policy.ts';
import { freeJson } from '../model/schema.ts';
import { request, unqueued } from '../rpc/declare.ts';

export const permissionProfileList = request('permissionProfile/list', {
  params: () => z.object({ cursor: z.string().nullish(), limit: z.int().min(0).nullish(), cwd: z.string().nullish() }),
  result: () =>
    z.object({
      data: z.array(
        z.object({
          id: z.string(),
          description: z.string().nullable(),
          allowed: z.boolean(),
          /** Why it is not allowed. */
          reason: z.string().nullable(),
        }),
      ),
      nextCursor: z.string().nullable(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

export const permissionProfileMethods = { permissionProfileList };

const MAX_PAGE = 200;

/** Over all threads of the tenant, the oldest first. */
export const approvalPending = request('approval/pending', {
  params: () =>
    z.object({
      threadId: z.string().nullish(),
      cursor: z.string().nullish(),
      limit: z.int().min(1).max(MAX_PAGE).nullish(),
    }),
  result: () => z.object({ data: z.array(PendingApproval()), nextCursor: z.string().nullable() }),
  queue: unqueued,
  needs: 'approval:resolve',
  mutates: false,
  experimental: true,
  hasLargeAnswer: true,
});

/** Answers from anywhere; the reply comes when the answer is on disk. */
export const approvalResolve = request('approval/resolve', {
  params: () =>
    z.object({
      approvalId: z.string(),
      nonce: z.string(),
      /** One of `availableDecisions`; for permissions, user input and questions of MCP servers the result that the question's own method has. */
      decision: freeJson(z.union([z.string(), z.record(z.string(), z.unknown())])),
    }),
  result: () => z.object({ approvalId: z.string(), threadId: z.string(), status: z.literal('answered') }),
  queue: ({ approvalId }) => ({ key: `approval:${approvalId}` }),
  needs: 'approval:resolve',
  mutates: 'effect',
  experimental: true,
});

export const approvalMethods = { approvalPending, approvalResolve };

/** Nothing happens: what would be decided about a command or files, and which rule says so. */
export const policyExplain = request('policy/explain', {
  params: () =>
    z
      .object({
        /** Its settings and what was accepted in it count; otherwise those of a thread that would start now. */
        threadId: z.string().nullish(),
        cwd: z.string().nullish(),
        approvalPolicy: ApprovalPolicy().nullish(),
        sandbox: SandboxMode().nullish(),
        sandboxPolicy: SandboxPolicy().nullish(),
        /** A shell line. */
        command: z.string().min(1).max(65_536).nullish(),
        /** The command asks to leave the sandbox. */
        escalate: z.boolean().nullish(),
        /** Files to change, absolute or relative to the working folder. */
        files: z.array(z.string().min(1)).min(1).max(1_000).nullish(),
      })
      .refine(
        ({ command, files }) => (command ?? files) && !(command && files),
        'either `command` or `files` is needed',
      ),
  result: () =>
    z.object({
      decision: z.enum(['allow', 'ask', 'deny']),
      /** How it would run. */
      runs: z.enum(['sandboxed', 'bare', 'unavailable']),
      rule: z.string(),
      explanation: z.string(),
      cwd: z.string(),
      approvalPolicy: ApprovalPolicy(),
      sandboxPolicy: SandboxPolicy(),
      command: z
        .object({
          argv: z.array(z.string()),
          /** What a remembered rule would have to allow. */
          prefix: z.array(z.string()),
          /** It is made of nothing but commands that are known to only read. */
          onlyReads: z.boolean(),
          /** What of the rules file cannot be read, with its place; while there is any, no rule allows anything. */
          unreadRules: z.array(z.string()),
        })
        .optional(),
      files: z.array(z.object({ path: z.string(), standing: z.enum(['workspace', 'outside', 'hidden']) })).optional(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  experimental: true,
});

export const policyMethods = { policyExplain };
