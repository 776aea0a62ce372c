// Keeps secrets that a server was given out of what it says about itself: some repeat them in refusals, or print them.

const MASK = '********';
/** Shorter ones stand in words by chance. */
const MIN_SECRET = 8;

/** The same text without the secrets. */
export function concealed(text: string, secrets: Iterable<string>): string {
  let result = text;
  for (const secret of secrets) if (secret.length >= MIN_SECRET) result = result.replaceAll(secret, MASK);
  return result;
}

/** Values of headers that may be secrets: all but those that say what is sent. */
export function secretsOf(headers: Headers): string[] {
  const plain = new Set(['accept', 'content-type', 'mcp-protocol-version', 'last-event-id']);
  return [...headers].flatMap(([name, value]) => {
    if (plain.has(name)) return [];
    // Of `Bearer abc` it is the second word.
    return [value, value.replace(/^\S+ /, '')];
  });
}
