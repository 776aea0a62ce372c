// Tools that read files and look through them, for models that know no shell well: each call is a command like any other, with its
// sandbox, its questions and its item.

import { resolve } from 'node:path';
import { z } from 'zod';
import { quoteWord } from '../../children/shell-quote.ts';
import { type Infer, type Schema, schema } from '../../model/schema.ts';
import { shortened } from './output-text.ts';
import { cancelledByAnswer, failed, readArguments, refused, type Tool, type ToolAnswer } from './tool.ts';

const MAX_OUTPUT_TOKENS = 10_000;
const TIMEOUT_MS = 60_000;
const USUAL_LINES = 500;
const USUAL_MATCHES = 200;

const path = (description: string) => ({ type: 'string', description: `${description} Relative or absolute.` });
const count = (description: string) => ({ type: 'integer', minimum: 1, description });
const counted = (most: number) => z.int().min(1).max(most).nullish();

const ReadArguments = schema(() =>
  z.object({ path: z.string().min(1), first_line: counted(10_000_000), lines: counted(10_000) }),
);

const readFile = fileTool({
  name: 'read_file',
  description: `Shows a text file, ${USUAL_LINES} lines of it unless more are asked for.`,
  properties: {
    path: path('The file.'),
    first_line: count('Where to begin; 1 if left out.'),
    lines: count(`How many; ${USUAL_LINES} if left out.`),
  },
  required: ['path'],
  shape: ReadArguments,
  line: ({ path, first_line, lines }, at) => {
    const first = first_line ?? 1;
    return `sed -n '${first},${first + (lines ?? USUAL_LINES) - 1}p' ${at(path)}`;
  },
});

const ListArguments = schema(() => z.object({ path: z.string().min(1).nullish(), depth: counted(20) }));

const listFiles = fileTool({
  name: 'list_files',
  description: 'Lists the files and folders of a folder; what belongs to git is left out.',
  properties: {
    path: path('The folder; the working folder of the thread if left out.'),
    depth: count('How many levels of folders; 2 if left out.'),
  },
  required: [],
  shape: ListArguments,
  line: ({ path, depth }, at) => `find ${at(path ?? '.')} -maxdepth ${depth ?? 2} -name .git -prune -o -print`,
});

const SearchArguments = schema(() =>
  z.object({
    pattern: z.string().min(1),
    path: z.string().min(1).nullish(),
    name: z.string().min(1).nullish(),
    matches: counted(10_000),
  }),
);

const searchFiles = fileTool({
  name: 'search_files',
  description: 'Finds lines of text files by a regular expression (POSIX extended), each with its file and number.',
  properties: {
    pattern: { type: 'string', description: 'What is looked for.' },
    path: path('A folder with all below it, or a file; the working folder of the thread if left out.'),
    name: { type: 'string', description: 'Only files of this name, which may hold wildcards such as *.ts.' },
    matches: count(`How many lines at most of one file; ${USUAL_MATCHES} if left out.`),
  },
  required: ['pattern'],
  shape: SearchArguments,
  line: ({ pattern, path, name, matches }, at) => {
    const only = name ? ` --include=${quoteWord(name)}` : '';
    const most = matches ?? USUAL_MATCHES;
    return `grep -rnIE -m ${most} --exclude-dir=.git${only} -e ${quoteWord(pattern)} ${at(path ?? '.')}`;
  },
  // Nothing was found.
  isEmpty: (exitCode) => exitCode === 1,
});

export const fileTools: readonly Tool[] = [readFile, listFiles, searchFiles];

function fileTool<S extends Schema>(tool: {
  readonly name: string;
  readonly description: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
  readonly shape: S;
  /** `at` gives a path as a word of the line. */
  readonly line: (given: Infer<S>, at: (path: string) => string) => string;
  readonly isEmpty?: (exitCode: number) => boolean;
}): Tool {
  const { name, description, properties, required } = tool;
  return {
    spec: { name, description, parameters: { type: 'object', properties, required, additionalProperties: false } },
    async run(call, turn, tools) {
      const read = readArguments<Infer<S>>(name, tool.shape() as z.ZodType<Infer<S>>, call.arguments);
      if ('problem' in read) return failed(read.problem);
      const { cwd } = turn.settings;
      // Absolute, so that no path looks like an option.
      const line = tool.line(read.given, (path) => quoteWord(resolve(cwd, path)));
      const command = { line, cwd, escalate: false, reason: null, timeoutMs: TIMEOUT_MS };
      const result = await tools.runCommand(call.callId, command);
      switch (result.kind) {
        case 'ran':
          if (result.exitCode !== 0 && tool.isEmpty?.(result.exitCode)) return NOTHING_FOUND;
          return answerOf(result.output, result.exitCode === 0);
        // Not without a time after which it is to be left running.
        case 'running':
          return answerOf(result.output, false);
        case 'refused':
          return refused(name, result.reason);
        case 'cancelled':
          throw cancelledByAnswer();
      }
    },
  };
}

const NOTHING_FOUND: ToolAnswer = { output: 'Nothing was found.', success: true };

function answerOf(text: string, success: boolean): ToolAnswer {
  return { output: text === '' ? 'There is nothing.' : shortened(text, MAX_OUTPUT_TOKENS), success };
}
