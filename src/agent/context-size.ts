// How much of a model's context window a view takes: what the provider counted, and an estimate of what came since.

import type { ContextItem } from '../model/context.ts';

const CHARACTERS_PER_TOKEN = 4;
/** Of an image or a file that is not text; providers count between some hundred and some thousand. */
const TOKENS_PER_IMAGE = 1000;

/** `counted`: the tokens of the last request and its answer, if a provider has told them. */
export function tokensOf(context: readonly ContextItem[], counted: number | null): number {
  if (counted === null) return estimate(context);
  const lastAnswer = context.findLastIndex(isOfModel);
  return counted + estimate(context.slice(lastAnswer + 1));
}

/** Whether there is anything in it that a summary could stand for. */
export const canBeShortened = (context: readonly ContextItem[]): boolean => context.some(isOfModel);

const isOfModel = ({ type }: ContextItem): boolean =>
  type === 'assistant' || type === 'reasoning' || type === 'toolCall';

function estimate(context: readonly ContextItem[]): number {
  return context.reduce((sum, item) => sum + tokensIn(item), 0);
}

function tokensIn(item: ContextItem): number {
  switch (item.type) {
    case 'user':
      return item.content.reduce(
        (sum, part) => sum + (part.type === 'text' ? inTokens(part.text.length) : TOKENS_PER_IMAGE),
        0,
      );
    case 'toolCall':
      return inTokens(item.name.length + item.arguments.length);
    case 'toolOutput':
      return inTokens(item.output.length) + imagesIn(item) * TOKENS_PER_IMAGE;
    case 'assistant':
    case 'note':
      return inTokens(item.text.length);
    case 'reasoning':
      return inTokens([...item.summary, ...item.content].join('').length);
    case 'raw':
      return inTokens(JSON.stringify(item.item).length);
  }
}

const inTokens = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);

const imagesIn = ({ content = [] }: Extract<ContextItem, { type: 'toolOutput' }>): number =>
  content.filter(({ type }) => type === 'image').length;
