// Where a YAML text is nested deeper than any settings are: found before it is read, because reading goes as deep as the text does.

/** Beyond it something is wrong: settings themselves have a lower limit. */
const MAX_STACK = 256;
/** Who nests deeper than half of that has brackets, or a line that begins far to the right or holds many marks. */
const SUSPICIOUS = MAX_STACK / 4;

/** The offset from which on it is too deep; undefined: it is not. */
export async function tooDeepAt(text: string): Promise<number | undefined> {
  if (!isSuspicious(text)) return undefined;
  const { Lexer, Parser } = await import('yaml');
  const parser = new Parser();
  let offset = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme));
    if (parser.stack.length > MAX_STACK) return Math.min(offset, text.length);
    offset = parser.offset;
  }
  return undefined;
}

function isSuspicious(text: string): boolean {
  if ((text.match(/[[{]/g)?.length ?? 0) > SUSPICIOUS) return true;
  return text.split('\n').some((line) => line.length > SUSPICIOUS);
}
