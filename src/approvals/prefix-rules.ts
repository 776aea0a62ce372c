// Remembered command prefixes: a readable file of `prefix_rule(pattern=["git", "status"], decision="allow")` lines.

import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../base/errors.ts';
import { Mailbox } from '../base/mailbox.ts';

export interface PrefixRules {
  /** Whether a remembered prefix covers this simple command. */
  covers(argv: readonly string[]): Promise<boolean>;
  /** Remembers a prefix; on disk when it resolves. */
  remember(prefix: readonly string[]): Promise<void>;
}

const RULE = /^\s*prefix_rule\(\s*pattern\s*=\s*(\[.*\])\s*,\s*decision\s*=\s*"allow"\s*\)\s*(?:#.*)?$/;

/** Rules in `file`, which is read again for each question, so that edits by hand count at once. Unreadable lines allow nothing. */
export function createPrefixRules(file: string): PrefixRules {
  const writes = new Mailbox();
  return {
    async covers(argv) {
      const prefixes = await readPrefixes(file);
      return prefixes.some((prefix) => prefix.length > 0 && prefix.every((word, index) => argv[index] === word));
    },
    remember: (prefix) => writes.run(() => appendRule(file, prefix)),
  };
}

async function readPrefixes(file: string): Promise<readonly string[][]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    const pattern = RULE.exec(line)?.[1];
    if (pattern === undefined) return [];
    const words = parseWords(pattern);
    return words ? [words] : [];
  });
}

function parseWords(pattern: string): string[] | undefined {
  try {
    const words: unknown = JSON.parse(pattern);
    return Array.isArray(words) && words.every((word) => typeof word === 'string') ? words : undefined;
  } catch {
    return undefined;
  }
}

async function appendRule(file: string, prefix: readonly string[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'a', 0o600);
  try {
    const words = prefix.map((word) => JSON.stringify(word)).join(', ');
    await handle.appendFile(`prefix_rule(pattern=[${words}], decision="allow")\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
