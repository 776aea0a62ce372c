// How a client says no when it has no answer: every question has a form of refusal, and an unknown one gets an error.

import { AppError } from '../base/errors.ts';

const REFUSALS: Readonly<Record<string, unknown>> = {
  'item/commandExecution/requestApproval': { decision: 'decline' },
  'item/fileChange/requestApproval': { decision: 'decline' },
  'item/permissions/requestApproval': { permissions: {}, scope: 'turn' },
  'mcpServer/elicitation/request': { action: 'decline', content: null },
};

/** The result that refuses a question of this method; throws as *unsupported* where only an error does. */
export function refusalOf(method: string): unknown {
  if (Object.hasOwn(REFUSALS, method)) return REFUSALS[method];
  throw new AppError('unsupported', `this client does not answer ${method}`);
}
