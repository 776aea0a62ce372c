// Settings as they may be shown: secrets are replaced, wherever they stand.

import { isTable, type Table } from './tables.ts';

const MASK = '********';

/** Tables whose values are secrets or may carry one. */
const SECRET_TABLES = new Set(['http_headers', 'query_params', 'env', 'set']);
const SECRET_NAME =
  /(?:token|secrets?|passw(?:or)?d|passphrase|authorization|cookie|credentials?|(?:api|access|private|secret|auth)[-_]?key)$/i;

/** The same settings, every secret in them unreadable; names stay. */
export function masked(table: Table): Table {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, maskedValue(key, value)]));
}

function maskedValue(key: string, value: unknown): unknown {
  if (key === 'args' && Array.isArray(value)) return maskedWords(value);
  if (key === 'command' && typeof value === 'string') return maskedText(value);
  if (Array.isArray(value)) return value.map((each) => maskedValue(key, each));
  if (isTable(value)) {
    const isSecret = SECRET_TABLES.has(key) || SECRET_NAME.test(key);
    return isSecret ? Object.fromEntries(Object.keys(value).map((name) => [name, MASK])) : masked(value);
  }
  if (typeof value === 'boolean' || value === null) return value;
  if (SECRET_NAME.test(key)) return MASK;
  return typeof value === 'string' ? plainAddress(value) : value;
}

/** An address without the name, password and query in it. */
function plainAddress(text: string): string {
  return text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#\s]*@/i, `$1${MASK}@`)
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^?#\s]*\?)[^#\s]+/i, `$1${MASK}`);
}

/** Names that are as telling in the words of a command, and too common elsewhere. */
const SECRET_FLAG = /(?:^|[-_])(?:key|pat|bearer|auth|pwd|pass)$/i;
const isSecretFlag = (name: string): boolean => SECRET_NAME.test(name) || SECRET_FLAG.test(name);

/** The words of a command line: what follows a flag that is called like a secret is one. */
function maskedWords(words: readonly unknown[]): unknown[] {
  return words.map((word, at) => {
    if (typeof word !== 'string') return word;
    const before = at > 0 ? /^--?([\w-]+)$/.exec(String(words[at - 1]))?.[1] : undefined;
    if (before !== undefined && !word.startsWith('-') && isSecretFlag(before)) return MASK;
    const isUser = before === 'u' || before === 'user';
    return isUser ? word.replace(/^([^:]*):.+$/, `$1:${MASK}`) : maskedText(word);
  });
}

/** What clients of well-known services are given begins like this. */
const KNOWN_SECRET = /\b(?:sk-|gh[opsu]_|github_pat_|glpat-|xox[abprs]-|AKIA|eyJ)[\w.-]{12,}/g;

/**
 * A text with addresses, headers and assignments in it. Names are looked at from their ends: a long word must not be gone through
 * once for each of its letters.
 */
function maskedText(text: string): string {
  return text
    .replace(/[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"']+/gi, plainAddress)
    .replace(
      /([\w-]{1,40})(=|:\s{0,8})(?:(Bearer|Basic|Token)\s{1,8})?([^\s&"']+)/gi,
      (all, name: string, mark: string, kind?: string) =>
        isSecretFlag(name) ? `${name}${mark}${kind === undefined ? '' : `${kind} `}${MASK}` : all,
    )
    .replace(KNOWN_SECRET, MASK);
}

/** A single value as it may be shown where its path is known. */
export function maskedAt(path: readonly string[], value: unknown): unknown {
  const shown = masked(path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Table);
  return path.reduce<unknown>((inner, key) => (isTable(inner) ? inner[key] : inner), shown);
}
