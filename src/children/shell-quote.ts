// Words and lines: how an argument list is written as one line that a POSIX shell reads back as the same list.

/** Characters that need no quotes at all. */
const PLAIN = /^[-+./:@\]_0-9A-Za-z]+/;
/** A run that single quotes can hold; backslashes are left to double quotes, since not all shells agree about them. */
const SINGLE = /^[^'\\]+/;
/** A run that double quotes can hold without anything in it being expanded. */
const DOUBLE = /^[^$`!^]+/;

/** One word, quoted only where needed; single quotes are preferred. */
export function quoteWord(word: string): string {
  if (word === '') return "''";
  let quoted = '';
  for (let rest = word; rest !== ''; ) {
    const plain = PLAIN.exec(rest)?.[0] ?? '';
    const single = SINGLE.exec(rest)?.[0] ?? '';
    const double = DOUBLE.exec(rest)?.[0] ?? '';
    const longest = Math.max(single.length, double.length);
    if (plain.length === longest) quoted += plain;
    else if (single.length === longest) quoted += `'${single}'`;
    else quoted += `"${double.replaceAll(/["\\]/g, '\\$&')}"`;
    rest = rest.slice(longest);
  }
  return quoted;
}

/** An argument list as the one line of text that is shown for it, e.g. `/bin/bash -lc 'echo hi'`. */
export function displayCommand(argv: readonly string[]): string {
  return argv.map(quoteWord).join(' ');
}
