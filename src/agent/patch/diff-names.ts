// Names of files in a diff, as git writes those that would not stay in their line or their quotes.

const LETTERS: Readonly<Record<string, string>> = {
  ...{ '\u0007': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r' },
  ...{ '"': '"', '\\': '\\' },
};
const MEANINGS = Object.fromEntries(Object.entries(LETTERS).map(([character, letter]) => [letter, character]));

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const SPECIAL = /[\u0000-\u001f\u007f"\\]/g;
const ESCAPED = /\\([0-7]{3}|.)/g;

/** In quotes where it has to be. */
export function quotedName(name: string): string {
  const escaped = name.replace(SPECIAL, (each) => {
    const letter = LETTERS[each] ?? each.charCodeAt(0).toString(8).padStart(3, '0');
    return `\\${letter}`;
  });
  return escaped === name ? name : `"${escaped}"`;
}

/** As it was before it was quoted; a name without quotes stays as it is. */
export function plainName(written: string): string {
  if (written.length < 2 || !written.startsWith('"') || !written.endsWith('"')) return written;
  return written
    .slice(1, -1)
    .replace(ESCAPED, (_, what: string) =>
      /^[0-7]{3}$/.test(what) ? String.fromCharCode(Number.parseInt(what, 8)) : (MEANINGS[what] ?? what),
    );
}

/** Of `a/X b/Y`, each of them quoted or not. Most files keep their name, and then it is the two halves. */
export function namesIn(header: string): readonly [from: string, to: string] {
  const quoted = /^("(?:[^"\\]|\\.)*"|.*?) ("(?:[^"\\]|\\.)*"|b\/.*)$/.exec(header);
  const half = (header.length - 1) / 2;
  const [one, other] = [header.slice(0, half), header.slice(half + 1)];
  const isSameTwice = plainName(one).slice(2) === plainName(other).slice(2);
  const [from, to] = isSameTwice ? [one, other] : [quoted?.[1] ?? header, quoted?.[2] ?? header];
  return [plainName(from).slice(2), plainName(to).slice(2)];
}
