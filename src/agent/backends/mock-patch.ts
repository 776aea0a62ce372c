// The words behind `patch` in a script of the mock model, as the text of a patch.

const CHANGE = /^(add|replace|delete|move)\s+(\S+)(?:\s+(\S.*))?$/is;

/** Undefined when the words are no change, or one of several is none. `\n` stands for the end of a line. */
export function patchOf(words: string): string | undefined {
  const changes = words.split(/\s;\s/).map(readChange);
  if (changes.some((change) => change === undefined)) return undefined;
  return ['*** Begin Patch', ...changes, '*** End Patch'].join('\n');
}

function readChange(words: string): string | undefined {
  const [, verb, path, rest = ''] = CHANGE.exec(words.trim()) ?? [];
  switch (verb?.toLowerCase()) {
    case 'add':
      return [`*** Add File: ${path}`, ...signed('+', rest)].join('\n');
    case 'delete':
      return rest === '' ? `*** Delete File: ${path}` : undefined;
    case 'move':
      return /^\S+$/.test(rest) ? `*** Update File: ${path}\n*** Move to: ${rest}` : undefined;
    case 'replace': {
      const [old, now, ...more] = rest.split(/\s=>/);
      if (old === undefined || now === undefined || more.length > 0) return undefined;
      return [`*** Update File: ${path}`, '@@', ...signed('-', old.trimEnd()), ...signed('+', now.trimStart())].join(
        '\n',
      );
    }
    default:
      return undefined;
  }
}

const signed = (sign: string, text: string): readonly string[] =>
  text === '' ? [] : text.split('\\n').map((line) => sign + line);
