// All declared messages as data: which there are, what they need, and their shapes as named JSON Schemas.

import { z } from 'zod';
import { UserAnswers, UserQuestion } from '../../model/approval.ts';
import { ClientTool, ClientToolContent, ClientToolResponse } from '../../model/client-tool.ts';
import { CollaborationMode, CollaborationModeMask } from '../../model/collaboration.ts';
import { UserInput } from '../../model/input.ts';
import { CommandAction, FileUpdateChange, Item } from '../../model/item.ts';
import { Plan } from '../../model/plan.ts';
import { ApprovalPolicy, ApprovalsReviewer, SandboxMode, SandboxPolicy } from '../../model/policy.ts';
import { JsonValue, type Schema } from '../../model/schema.ts';
import {
  Attachment,
  GitInfo,
  Goal,
  PermissionProfile,
  QueuedSubmission,
  ReadState,
  Thread,
  ThreadSection,
  ThreadStatus,
} from '../../model/thread.ts';
import { ErrorInfo, ItemsView, TokenUsage, Turn, TurnError, TurnStatus } from '../../model/turn.ts';
import { clientNotifications, notifications, requests, serverRequests } from '../../protocol.ts';
import type { Notification, Request } from '../../rpc/declare.ts';
import { Environment, TurnsPage, WireSettings } from '../../threads/schema.ts';
import { type JsonSchema, reachable, reference } from './json-schema.ts';

/** Shapes that many messages share, with the names they get; any other is written out where it stands. */
const NOUNS: Readonly<Record<string, Schema>> = {
  ...{ ApprovalPolicy, ApprovalsReviewer, Attachment, ClientTool, ClientToolContent, ClientToolResponse },
  ...{ CollaborationMode, CollaborationModeMask, CommandAction, Environment, ErrorInfo, FileUpdateChange, GitInfo },
  ...{
    Goal,
    Item,
    ItemsView,
    JsonValue,
    PermissionProfile,
    Plan,
    QueuedSubmission,
    ReadState,
    SandboxMode,
    SandboxPolicy,
  },
  ...{ Thread, ThreadSection, ThreadStatus, TokenUsage, Turn, TurnError, TurnStatus, TurnsPage },
  ...{ UserAnswers, UserInput, UserQuestion, ThreadSettings: WireSettings },
};

export interface DescribedNotification {
  readonly method: string;
  /** Name of the definition. */
  readonly params: string;
  readonly isExperimental: boolean;
}

export interface DescribedRequest extends DescribedNotification {
  /** Name of the definition. */
  readonly result: string;
  /** The permission that the caller needs. */
  readonly needs: string;
  /** Whether an `idempotencyKey` makes it once-only. */
  readonly mutates: boolean;
  readonly isStop: boolean;
  /** Members of the params that need the experimental capability. */
  readonly experimentalMembers: readonly string[];
}

/** Each list in the order of the methods; the definitions in the order of their names. */
export interface Description {
  readonly requests: readonly DescribedRequest[];
  readonly notifications: readonly DescribedNotification[];
  readonly serverRequests: readonly DescribedRequest[];
  readonly clientNotifications: readonly DescribedNotification[];
  readonly definitions: ReadonlyMap<string, JsonSchema>;
}

/** Without the experimental part: no method, notification or member of params that needs the experimental capability. */
export function describeProtocol({ isExperimental }: { readonly isExperimental: boolean }): Description {
  const names = new Names();
  const kept = <T extends { readonly experimental: boolean }>(group: Readonly<Record<string, T>>) =>
    Object.entries(group).filter(([, each]) => isExperimental || !each.experimental);
  const asked = kept<Request>(requests).map(([key, each]) => describedRequest(names, key, each));
  const serverAsked = kept<Request>(serverRequests).map(([key, each]) => describedRequest(names, key, each));
  const told = kept<Notification>(notifications).map(([key, each]) => describedNotification(names, key, each));
  const clientTold = kept<Notification>(clientNotifications).map(([k, each]) => describedNotification(names, k, each));
  const all = new Map(names.schemas());
  for (const each of asked) all.set(each.params, paramsOf(each, all.get(each.params)!, isExperimental));
  const roots = [...asked, ...serverAsked].flatMap(({ params, result }) => [params, result]);
  return {
    requests: asked.toSorted(byMethod),
    notifications: told.toSorted(byMethod),
    serverRequests: serverAsked.toSorted(byMethod),
    clientNotifications: clientTold.toSorted(byMethod),
    definitions: reachable([...roots, ...[...told, ...clientTold].map(({ params }) => params)], all),
  };
}

const byMethod = (a: { readonly method: string }, b: { readonly method: string }): number =>
  a.method < b.method ? -1 : 1;

const capital = (key: string): string => `${key.charAt(0).toUpperCase()}${key.slice(1)}`;

function describedRequest(names: Names, key: string, request: Request): DescribedRequest {
  return {
    method: request.method,
    params: names.of(`${capital(key)}Params`, request.params()),
    result: names.of(`${capital(key)}Response`, request.result()),
    needs: request.needs,
    mutates: request.mutates !== false,
    isStop: request.isStop,
    isExperimental: request.experimental,
    experimentalMembers: request.experimentalFields,
  };
}

function describedNotification(names: Names, key: string, { method, params, experimental }: Notification) {
  return { method, params: names.of(`${capital(key)}Notification`, params()), isExperimental: experimental };
}

/** What the router takes beside the declared members, and refuses without the capability. */
function paramsOf(request: DescribedRequest, declared: JsonSchema, isExperimental: boolean): JsonSchema {
  const { oneOf, properties } = declared;
  if (oneOf) return { ...declared, oneOf: oneOf.map((each) => paramsOf(request, each, isExperimental)) };
  if (!properties) return declared;
  const kept = Object.entries(properties).filter(
    ([member]) => isExperimental || !request.experimentalMembers.includes(member),
  );
  const key = request.mutates ? { idempotencyKey: IDEMPOTENCY_KEY } : {};
  return { ...declared, properties: { ...Object.fromEntries(kept), ...key } };
}

const IDEMPOTENCY_KEY: JsonSchema = {
  anyOf: [{ type: 'string', minLength: 1, maxLength: 256 }, { type: 'null' }],
  description: 'The same key again: the request is not carried out a second time, and has the same answer.',
};

/** Gives each shape one name, also where several messages have the same. */
class Names {
  readonly #registry = z.registry<{ id: string }>();
  readonly #used = new Set<string>();

  constructor() {
    for (const [name, noun] of Object.entries(NOUNS)) this.of(name, noun());
  }

  of(name: string, schema: z.ZodType): string {
    const known = this.#registry.get(schema);
    if (known) return known.id;
    if (this.#used.has(name)) throw new Error(`two shapes have the name ${name}`);
    this.#used.add(name);
    this.#registry.add(schema, { id: name });
    return name;
  }

  /** Messages as they are on the wire: a member with a default may be left out. */
  *schemas(): IterableIterator<[string, JsonSchema]> {
    const uri = (name: string) => reference(name).$ref!;
    const { schemas } = z.toJSONSchema(this.#registry, { io: 'input', target: 'draft-7', uri });
    if (schemas.__shared) throw new Error('a shape that leads to itself needs a name of its own');
    for (const [name, { $schema, $id, ...schema }] of Object.entries(schemas))
      yield [name, plain(schema) as JsonSchema];
  }
}

/** Without what says nothing: the limits of exact whole numbers, and that names of members are texts. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).filter(([keyword, each]) => !isIdle(keyword, each));
  return Object.fromEntries(members.map(([keyword, each]) => [keyword, plain(each)]));
}

function isIdle(keyword: string, value: unknown): boolean {
  if (keyword === 'maximum') return value === Number.MAX_SAFE_INTEGER;
  if (keyword === 'minimum') return value === Number.MIN_SAFE_INTEGER;
  return keyword === 'propertyNames' && JSON.stringify(value) === '{"type":"string"}';
}
