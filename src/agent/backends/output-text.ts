// Output for the model, shortened in its middle where it is long.

const CHARACTERS_PER_TOKEN = 4;

/** About so many tokens of a model. */
export const tokensIn = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);

/** The text, or its head and tail with a word about what lies between. */
export function shortened(text: string, maxTokens: number): string {
  const most = Math.floor(maxTokens * CHARACTERS_PER_TOKEN);
  if (text.length <= most) return text;
  const head = text.slice(0, Math.ceil(most / 2)).replace(/[\uD800-\uDBFF]$/, '');
  const tail = text.slice(text.length - Math.floor(most / 2)).replace(/^[\uDC00-\uDFFF]/, '');
  return `${head}\n… ${tokensIn(text) - maxTokens} tokens left out …\n${tail}`;
}
