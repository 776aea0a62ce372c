// The words of the mock model's script that call tools, as calls.

import type { ContextItem } from '../../model/context.ts';
import { parseLoosely, recordOf } from '../models/loose.ts';
import { COMMAND_TOOL } from './command-tool.ts';
import { IMAGE_TOOL } from './image-tool.ts';
import { patchOf } from './mock-patch.ts';
import { PATCH_TOOL } from './patch-tool.ts';
import { PLAN_TOOL } from './plan-tool.ts';
import { STDIN_TOOL } from './stdin-tool.ts';

export interface ScriptedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const ESCALATION = { sandbox_permissions: 'require_escalated', justification: 'The script asks to leave the sandbox.' };

const TO_THE_END = { yield_time_ms: 3_600_000 };
const ON_ITS_OWN = { yield_time_ms: 0, tty: true };
const INTERRUPT = '\u0003';

/** To which command is known only when the call is made. */
const writing = (chars: string): ScriptedCall => ({ name: STDIN_TOOL, arguments: { chars, yield_time_ms: 1_000 } });

/** The number of the command that was left running last; zero, which no command has, when there is none. */
export function lastSession(context: readonly ContextItem[]): number {
  const said = context.flatMap((item) => (item.type === 'toolOutput' ? [item.output] : []));
  const numbers = said.flatMap((text) => /^Process running with session ID (\d+)$/m.exec(text)?.[1] ?? []);
  return Number(numbers.at(-1) ?? 0);
}

/** Undefined when `verb` calls nothing, or the words behind it are none of its. */
export function readCall(verb: string, rest: string): ScriptedCall | undefined {
  if (verb === 'look' || verb === 'stop') return rest === '' ? writing(verb === 'look' ? '' : INTERRUPT) : undefined;
  if (rest === '') return undefined;
  switch (verb) {
    case 'run':
      return { name: COMMAND_TOOL, arguments: { cmd: rest, ...TO_THE_END } };
    case 'run!':
      return { name: COMMAND_TOOL, arguments: { cmd: rest, ...TO_THE_END, ...ESCALATION } };
    case 'leave':
      return { name: COMMAND_TOOL, arguments: { cmd: rest, ...ON_ITS_OWN } };
    case 'leave!':
      return { name: COMMAND_TOOL, arguments: { cmd: rest, ...ON_ITS_OWN, ...ESCALATION } };
    case 'type':
      return writing(`${rest}\n`);
    case 'patch': {
      const input = patchOf(rest);
      return input === undefined ? undefined : { name: PATCH_TOOL, arguments: { input } };
    }
    case 'plan':
      return { name: PLAN_TOOL, arguments: { plan: rest.split(/\s;\s/).map(stepOf) } };
    case 'view':
      return { name: IMAGE_TOOL, arguments: { path: rest } };
    case 'call':
      return readClientCall(rest);
    default:
      return undefined;
  }
}

const STATUSES: Readonly<Record<string, string>> = { done: 'completed', now: 'in_progress', later: 'pending' };

function stepOf(words: string): { readonly step: string; readonly status: string } {
  const [first = '', ...more] = words.trim().split(/\s+/);
  const status = STATUSES[first.toLowerCase()];
  return status !== undefined && more.length > 0
    ? { step: more.join(' '), status }
    : { step: words.trim(), status: 'pending' };
}

/** A name, and a JSON object of arguments or nothing. */
function readClientCall(words: string): ScriptedCall | undefined {
  const [, name = '', text = '{}'] = /^(\S+)(?:\s+(\S.*))?$/s.exec(words) ?? [];
  const given = parseLoosely(text);
  if (name === '' || typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
  return { name, arguments: recordOf(given) };
}
