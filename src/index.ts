// The public face: a server in this process, a client for any server, and the types that go with them.

export { type App, createApp } from './app.ts';
export type { AppOptions } from './app-options.ts';
export { LOCAL_TENANT, localPrincipal, PERMISSIONS, type Permission, type Principal } from './auth/principal.ts';
export { AppError, type ErrorKind, isAppError } from './base/errors.ts';
export { createLog, type Log, silentLog } from './base/log.ts';
export {
  Client,
  type ClientOptions,
  connect,
  paramsOf,
  type ServerNotification,
} from './client/client.ts';
export { type ReachOptions, reach } from './client/node.ts';
export type { Answer } from './client/questions.ts';
export { environmentMethods } from './fs/environment-methods.ts';
export { fsMethods } from './fs/methods.ts';
export {
  fuzzyFileSearchSessionCompleted,
  fuzzyFileSearchSessionUpdated,
  searchMethods,
} from './fs/search-methods.ts';
export { fsChanged, watchMethods } from './fs/watch-methods.ts';
export type { Notification, Params, ParamsInput, Request, Result } from './rpc/declare.ts';
export { threadNotifications } from './threads/notifications.ts';
export { threadMethods } from './threads/thread-methods.ts';
export { turnMethods } from './threads/turn-methods.ts';
export { type ListenAddress, type ListenOptions, listenAt, parseListenAddress } from './transports/address.ts';
export type { CloseReason, Connection, Listener } from './transports/connection.ts';
export { memoryPair } from './transports/memory.ts';
