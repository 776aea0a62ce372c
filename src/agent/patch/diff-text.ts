// How git shows that a file was another one before: the header of its section, and the lines that differ.

import { createHash } from 'node:crypto';
import { isAbsolute, relative } from 'node:path';
import { quotedName } from './diff-names.ts';
import { type Effort, unifiedDiff } from './line-diff.ts';

/** Of a file: what git calls its content, and the text itself where there is one and it was kept. */
export interface Content {
  /** 40 hex digits; anything else only tells it from other contents. */
  readonly id: string;
  /** As `stat` has it; permission bits alone mean a plain file. */
  readonly mode: number;
  readonly text: string | undefined;
}

/** A file before and after; `origin` is its name before. At least one of the two is there. */
export interface FilePair {
  readonly origin: string;
  readonly before: Content | null;
  readonly after: Content | null;
}

const NO_CONTENT = '0'.repeat(40);
const IS_ID = /^[0-9a-f]{40}$/;
const KIND = 0o170000;
const LINK = 0o120000;

/** Without an effort for hunks it is only named. Paths below `cwd` are relative to it. */
export function sectionOf(path: string, { origin, before, after }: FilePair, cwd: string, effort?: Effort): string {
  const names = [nameIn(origin, cwd), nameIn(path, cwd)] as const;
  const [from, to] = [quotedName(`a/${names[0]}`), quotedName(`b/${names[1]}`)];
  const lines = [`diff --git ${from} ${to}`];
  if (before === null) lines.push(`new file mode ${gitMode(after)}`);
  else if (after === null) lines.push(`deleted file mode ${gitMode(before)}`);
  else if (gitMode(before) !== gitMode(after)) lines.push(`old mode ${gitMode(before)}`, `new mode ${gitMode(after)}`);
  const isUnchanged = before !== null && before.id === after?.id;
  if (origin !== path && isUnchanged)
    lines.push('similarity index 100%', `rename from ${quotedName(names[0])}`, `rename to ${quotedName(names[1])}`);
  if (isUnchanged) return `${lines.join('\n')}\n`;
  const ids = [before?.id ?? NO_CONTENT, after?.id ?? NO_CONTENT];
  if (ids.every((id) => IS_ID.test(id))) lines.push(`index ${ids.join('..')}`);
  const [oldText, newText] = [textOf(before), textOf(after)];
  if (oldText === '' && newText === '') return `${lines.join('\n')}\n`;
  const [shownFrom, shownTo] = [before === null ? '/dev/null' : from, after === null ? '/dev/null' : to];
  if (!effort || oldText === undefined || newText === undefined)
    return `${lines.join('\n')}\nBinary files ${shownFrom} and ${shownTo} differ\n`;
  return `${lines.join('\n')}\n--- ${shownFrom}\n+++ ${shownTo}\n${unifiedDiff(oldText, newText, effort)}`;
}

/** Known without comparing: a file that came or went is shown whole. */
export const leastLength = ({ before, after }: FilePair): number =>
  before === null || after === null ? ((before ?? after)?.text?.length ?? 0) : 0;

export const isSame = (path: string, { origin, before, after }: FilePair): boolean =>
  before === null
    ? after === null
    : after !== null && path === origin && before.id === after.id && gitMode(before) === gitMode(after);

/** Undefined: it was not kept, or is none. */
const textOf = (content: Content | null): string | undefined => (content === null ? '' : content.text);

function nameIn(path: string, cwd: string): string {
  const way = relative(cwd, path);
  return way === '..' || way.startsWith('../') || isAbsolute(way) ? path : way;
}

function gitMode(content: Content | null): string {
  const mode = content?.mode ?? 0;
  if ((mode & KIND) === LINK) return '120000';
  return mode & 0o111 ? '100755' : '100644';
}

/** The name that git gives to a file's content. */
export function objectId(content: string | Buffer): string {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}
