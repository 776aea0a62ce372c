// An HTTP answer that is no success, as a ModelError with what the provider said and when to come again.

import { StringDecoder } from 'node:string_decoder';
import { ModelError } from './client.ts';
import { withoutQuery } from './endpoint.ts';
import type { Answer } from './http.ts';
import { parseLoosely, recordOf, textOf } from './loose.ts';

const MAX_BODY_BYTES = 64 * 1024;

/** Reads the body, at most 64 KiB of it. */
export async function statusError(answer: Answer, url: string): Promise<ModelError> {
  const body = await bodyOf(answer);
  const { status, statusText } = answer;
  const fault = { kind: 'http', status, statusText, body, url: withoutQuery(url) } as const;
  return new ModelError(reasonIn(body) || statusText || `status ${status}`, fault, {
    retryAfterMs: retryAfterMs(answer.headers, Date.now()),
  });
}

async function bodyOf(answer: Answer): Promise<string> {
  const decoder = new StringDecoder('utf8');
  let body = '';
  let bytes = 0;
  try {
    for await (const chunk of answer.chunks) {
      body += decoder.write(chunk.subarray(0, MAX_BODY_BYTES - bytes));
      bytes += chunk.length;
      if (bytes >= MAX_BODY_BYTES) break;
    }
  } catch (error) {
    // The status is known and says more than how its explanation broke off.
    if (!(error instanceof ModelError)) throw error;
  }
  return body;
}

/** The provider's own words in an error body, whichever of the usual forms it has; empty if there are none. */
export function reasonIn(body: string): string {
  const parsed = recordOf(parseLoosely(body));
  return textOf(recordOf(parsed.error).message) || textOf(parsed.message) || textOf(parsed.error);
}

/** The wait that `retry-after-ms` or `retry-after` (seconds or a date) asks for, in milliseconds. */
export function retryAfterMs(headers: Answer['headers'], nowMs: number): number | undefined {
  const inMs = Number(headers['retry-after-ms']?.toString());
  if (Number.isFinite(inMs) && inMs >= 0) return inMs;
  const after = headers['retry-after'];
  if (after === undefined) return undefined;
  const seconds = Number(after);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
