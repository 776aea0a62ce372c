// The protocol by the names of its messages: what can be asked, what is told and what is asked back, as types and as values.

import { notifications, requests, serverRequests } from '../protocol.ts';
import type { Notification, Params, ParamsInput, Request, Result, ResultInput } from '../rpc/declare.ts';

type ByName<G extends Readonly<Record<string, { readonly method: string }>>> = {
  readonly [K in keyof G as G[K]['method']]: G[K];
};

type Requests = Omit<ByName<typeof requests>, 'initialize'>;
type Notifications = ByName<typeof notifications>;
type ServerRequests = ByName<typeof serverRequests>;

export type RequestName = keyof Requests & string;
/** As it is written by the caller: members with a default may be left out. */
export type RequestParams<M extends RequestName> = ParamsInput<Requests[M]>;
export type RequestResult<M extends RequestName> = Result<Requests[M]>;

export type NotificationName = keyof Notifications & string;
export type NotificationParams<M extends NotificationName> = Params<Notifications[M]>;

export type QuestionName = keyof ServerRequests & string;
export type QuestionParams<M extends QuestionName> = Params<ServerRequests[M]>;
export type QuestionAnswer<M extends QuestionName> = ResultInput<ServerRequests[M]>;

// biome-ignore lint/suspicious/noExplicitAny: requests of all shapes; the typed names above say which.
export type AnyRequest = Request<any, any>;

const byMethod = <D extends { readonly method: string }>(group: Readonly<Record<string, D>>): ReadonlyMap<string, D> =>
  new Map(Object.values(group).map((each) => [each.method, each]));

export const REQUESTS: ReadonlyMap<string, AnyRequest> = byMethod<AnyRequest>(requests);
export const NOTIFICATIONS: ReadonlyMap<string, Notification> = byMethod<Notification>(notifications);
export const QUESTIONS: ReadonlyMap<string, AnyRequest> = byMethod<AnyRequest>(serverRequests);
