// The tool that changes files by a patch: what the model is told about it, how its text is read, what it gets back.

import { resolve } from 'node:path';
import { z } from 'zod';
import { schema } from '../../model/schema.ts';
import type { ChangeResult, ToolHost } from '../backend.ts';
import type { ToolSpec } from '../models/client.ts';
import { type FileChange, PatchProblem } from '../patch/change.ts';
import { readPatch } from '../patch/grammar.ts';
import type { ToolCall } from './conversation.ts';
import { cancelledByAnswer, failed, readArguments, refused, type Tool, type ToolAnswer } from './tool.ts';

export const PATCH_TOOL = 'apply_patch';

/** Of the patch language, for models that are held to a grammar. */
const GRAMMAR = String.raw`start: "*** Begin Patch" LF change+ "*** End Patch" LF?

change: add | remove | update
add: "*** Add File: " PATH LF ("+" TEXT? LF)*
remove: "*** Delete File: " PATH LF
update: "*** Update File: " PATH LF ("*** Move to: " PATH LF)? place*

place: anchor* line+ ("*** End of File" LF)?
anchor: "@@" (" " TEXT)? LF
line: (" " | "-" | "+") TEXT? LF

PATH: /[^\r\n]+/
TEXT: /[^\r\n]+/

%import common.LF
`;

const DESCRIPTION = `Adds, changes, moves and deletes text files: all of a patch, or nothing of it. A patch has this form:

*** Begin Patch
*** Add File: docs/new.txt
+every line of the new file
*** Update File: src/old.ts
*** Move to: src/new.ts
@@ function greet
 a line that stays
-a line that goes
+a line that comes
*** Delete File: src/unused.ts
*** End Patch

Lines that stay or go are looked for in the file, so give about three that stay around each change; if that place is not the only one of
its kind, put a line that lies before it behind "@@". "*** Move to" is only for a file that gets another name. Where a change belongs to the
end of the file, "*** End of File" follows it. Paths are relative to the working folder of the thread.`;

const patchToolSpec: ToolSpec = {
  name: PATCH_TOOL,
  description: DESCRIPTION,
  parameters: {
    type: 'object',
    properties: { input: { type: 'string', description: 'The whole patch.' } },
    required: ['input'],
    additionalProperties: false,
  },
  custom: { syntax: 'lark', definition: GRAMMAR },
};

const PatchArguments = schema(() => z.object({ input: z.string() }));

export type ReadPatch = { readonly changes: readonly FileChange[] } | { readonly problem: string };

/** The changes, or what is wrong with the arguments, for the model. */
export function readPatchCall(argumentsText: string): ReadPatch {
  const read = readArguments(PATCH_TOOL, PatchArguments(), argumentsText);
  return 'problem' in read ? read : readText(read.given.input);
}

const IN_SHELL = new RegExp(`^\\s*${PATCH_TOOL}\\s+(<<-?\\s*(['"]?)\\w+\\2[ \\t]*\\r?\\n[\\s\\S]*)$`);

/**
 * The changes of a shell line that does nothing but hand a patch to the tool as a here-document, as models do that are used to a
 * program of its name; undefined for any other line. Paths are relative to `folder`.
 */
export function readShellPatch(line: string, folder: string): ReadPatch | undefined {
  const text = IN_SHELL.exec(line)?.[1];
  if (text === undefined) return undefined;
  const read = readText(text);
  if ('problem' in read) return read;
  return { changes: read.changes.map((change) => placed(change, folder)) };
}

function placed(change: FileChange, folder: string): FileChange {
  const path = resolve(folder, change.path);
  if (change.type !== 'update' || change.moveTo === null) return { ...change, path };
  return { ...change, path, moveTo: resolve(folder, change.moveTo) };
}

function readText(text: string): ReadPatch {
  try {
    return { changes: readPatch(text) };
  } catch (error) {
    if (error instanceof PatchProblem) return { problem: failure(error.message) };
    throw error;
  }
}

/** Makes what was read, if it could be read. */
export async function applyPatch(call: ToolCall, read: ReadPatch, tools: ToolHost): Promise<ToolAnswer> {
  if ('problem' in read) return failed(read.problem);
  const result = await tools.changeFiles(call.callId, read.changes);
  switch (result.kind) {
    case 'changed':
      return { output: patchOutput(result), success: true };
    case 'unfit':
      return failed(failure(result.problem));
    case 'refused':
      return refused(PATCH_TOOL, result.reason);
    case 'cancelled':
      throw cancelledByAnswer();
  }
}

export const patchTool: Tool = {
  spec: patchToolSpec,
  run: (call, _turn, tools) => applyPatch(call, readPatchCall(call.arguments), tools),
};

/** What the model is shown of a patch that is done. */
function patchOutput({ summary, durationMs }: Extract<ChangeResult, { kind: 'changed' }>): string {
  const wall = `Wall time: ${(durationMs / 1000).toFixed(1)} seconds`;
  return ['Exit code: 0', wall, 'Output:', 'The patch was applied:', ...summary, ''].join('\n');
}

const failure = (problem: string): string => `${PATCH_TOOL} failed: ${problem}`;
