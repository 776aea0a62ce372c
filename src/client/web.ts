// `heddle/client`: the client library for browsers, and for whatever else has a WebSocket.

import { connectWith, type Heddle } from './heddle.ts';
import type { ClientSettings } from './options.ts';
import { dialWebSocket, type WebOptions } from './web-socket.ts';

export { AppError, type ErrorKind, isAppError } from '../base/errors.ts';
export * as protocol from '../protocol.ts';
export type { SendOptions } from './calls.ts';
export { type MutationState, RequestError } from './errors.ts';
export type { ClientEvents, Heddle } from './heddle.ts';
export type { LinkState, ReconnectOptions } from './link.ts';
export type { Mutation } from './mutations.ts';
export type { Gap, News, NewsName, NewsParams } from './news.ts';
export type { ClientSettings } from './options.ts';
export type { QuestionHandler, QuestionHandlers } from './question-handlers.ts';
export type { Refusal } from './questions.ts';
export type { ResumeParams, Thread, ThreadParams } from './thread.ts';
export type { Turn, TurnOptions } from './turn.ts';
export type {
  NotificationName,
  NotificationParams,
  QuestionAnswer,
  QuestionName,
  QuestionParams,
  RequestName,
  RequestParams,
  RequestResult,
} from './typed.ts';

export interface ConnectOptions extends ClientSettings, WebOptions {}

/** Connects, tried once. Rejects as *invalid* for a wrong address, else with what kept the server from answering. */
export async function connect(options: ConnectOptions): Promise<Heddle> {
  return connectWith(() => dialWebSocket(options), options);
}
