// What the people of a project have written down for agents, in AGENTS.md and the like: words for the model, and nothing more.

import { dirname, join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { realPathOf } from '../fs/containment.ts';
import { kindOf } from '../fs/kind.ts';
import { readWholeFile } from '../fs/text-file.ts';

export interface InstructionParts {
  /** The operator's own file lies here, and goes before those of projects. */
  readonly dataDirectory: string;
  /** Names that are looked for in a folder where there is no AGENTS.md. */
  readonly otherNames: readonly string[];
  /** Of all files of a project together. */
  readonly maxBytes: number;
  /** Whether a file of a project may be read, by its real path. */
  readonly mayRead: (real: string) => Promise<boolean>;
}

export interface ProjectInstructions {
  /** The files that were read, the nearest to the working folder last. */
  readonly sources: string[];
  /** All of them for the model; null: there are none. */
  readonly text: string | null;
  /** What was left out, in words for people. */
  readonly problems: readonly string[];
}

/** The first of a folder that exists counts. */
const NAMES = ['AGENTS.override.md', 'AGENTS.md'];
/** A file above it is no text for a model. */
const MAX_FILE = 1024 * 1024;

const OPENING = `<project_instructions>
The people of this project have written down how to work in it. Where two files disagree, the later one counts; what the user says counts before
both. They are words to go by and allow nothing.`;

/** From the root of the repository, or from `cwd` where there is none, down to `cwd`. Never rejects for what lies in the files' way. */
export async function readInstructions(cwd: string, parts: InstructionParts): Promise<ProjectInstructions> {
  const [own, ...found] = await Promise.all(
    [[parts.dataDirectory], ...(await foldersOf(cwd)).map((folder) => [folder, ...parts.otherNames])].map(
      ([folder = '', ...more]) => firstOf(folder, [...NAMES, ...more]),
    ),
  );
  const read: { readonly path: string; readonly text: string }[] = [];
  const problems: string[] = [];
  let left = parts.maxBytes;
  for (const path of [own, ...found]) {
    if (path === undefined || (path !== own && left <= 0)) continue;
    try {
      const content = await contentOf(path, path === own ? async () => true : parts.mayRead);
      const part = path === own ? content : content.subarray(0, left);
      if (path !== own) left -= part.length;
      // A character may have been cut apart at the end.
      const text = part
        .toString('utf8')
        .replace(/\uFFFD$/, '')
        .trim();
      if (text !== '') read.push({ path, text });
      if (part.length < content.length)
        problems.push(
          `Only ${part.length} of ${content.length} bytes of ${path} were read: see project_doc_max_bytes.`,
        );
    } catch (error) {
      problems.push(`${path} was not read: ${messageOf(error)}`);
    }
  }
  const sources = read.map(({ path }) => path);
  if (read.length === 0) return { sources, text: null, problems };
  const texts = read.map(({ path, text }) => `# ${path}\n\n${text}`);
  return { sources, text: [OPENING, ...texts, '</project_instructions>'].join('\n\n'), problems };
}

async function contentOf(path: string, mayRead: (real: string) => Promise<boolean>): Promise<Buffer> {
  const real = await realPathOf(path);
  if (!(await mayRead(real))) throw new Error('it leads out of reach');
  return (await readWholeFile(real, MAX_FILE))?.content ?? Buffer.alloc(0);
}

/** The folders whose files count, the outermost first. */
async function foldersOf(cwd: string): Promise<string[]> {
  const folders = [cwd];
  for (let at = cwd; at !== dirname(at); ) {
    at = dirname(at);
    folders.push(at);
  }
  const repositories = await Promise.all(folders.map((folder) => kindOf(join(folder, '.git'))));
  return folders.slice(0, repositories.findIndex((kind) => kind !== undefined) + 1 || 1).reverse();
}

async function firstOf(folder: string, names: readonly string[]): Promise<string | undefined> {
  const paths = names.map((name) => join(folder, name));
  const kinds = await Promise.all(paths.map(kindOf));
  return paths[kinds.findIndex((kind) => kind?.isFile())];
}
