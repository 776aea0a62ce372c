// How a client says no when it has no answer: every question has a form of refusal, and an unknown one gets an error.

import { AppError } from '../base/errors.ts';

const REFUSALS: Readonly<Record<string, (reason: string) => unknown>> = {
  'item/commandExecution/requestApproval': () => ({ decision: 'decline' }),
  'item/fileChange/requestApproval': () => ({ decision: 'decline' }),
  'item/permissions/requestApproval': () => ({ permissions: {}, scope: 'turn' }),
  'item/tool/call': (reason) => ({ contentItems: [{ type: 'inputText', text: reason }], success: false }),
  'mcpServer/elicitation/request': () => ({ action: 'decline', content: null }),
};

/** The result that refuses a question of this method, with the reason where its form has room for one; throws as *unsupported* where only an error does. */
export function refusalOf(method: string, reason = 'this client does not answer it'): unknown {
  const refusal = Object.hasOwn(REFUSALS, method) ? REFUSALS[method] : undefined;
  if (refusal) return refusal(reason);
  throw new AppError('unsupported', `Unsupported server request ${method}: ${reason}`);
}
