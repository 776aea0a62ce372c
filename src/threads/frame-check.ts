// Holds what is rendered against the declared messages: for tests and development.

import { approvalMessages } from '../approvals/requests.ts';
import type { Notification } from '../rpc/declare.ts';
import { clientToolCall } from './client-tool-methods.ts';
import type { Frame } from './frame.ts';
import { threadNotifications } from './notifications.ts';

const DECLARED: ReadonlyMap<string, Pick<Notification, 'params'>> = new Map(
  [...Object.values(threadNotifications), ...Object.values(approvalMessages), clientToolCall].map(
    (each) => [each.method, each] as const,
  ),
);

/** Throws when a frame does not fit its declaration: a defect of ours, whatever the client. */
export function checkFrames(frames: readonly Frame[]): void {
  for (const frame of frames) {
    const declared = DECLARED.get(frame.method);
    if (!declared) throw new Error(`${frame.method} is not declared`);
    const { params } = JSON.parse(frame.text) as { params: unknown };
    const checked = declared.params().safeParse(params);
    if (!checked.success) throw new Error(`${frame.method} does not fit its schema: ${checked.error.message}`);
  }
}
