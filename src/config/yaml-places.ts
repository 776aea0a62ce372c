// Where the parts of a YAML text begin and end: from the source tokens that the parser keeps.

import type { CST, Pair, YAMLMap } from 'yaml';

export type Item = CST.CollectionItem;

/** Stands between the parts of a collection and says nothing. */
const BETWEEN: ReadonlySet<string> = new Set(['space', 'newline', 'comment', 'comma']);

/** The source of a pair; parsed documents keep it for every pair. */
export function itemOf(pair: Pair): Item {
  const item = pair.srcToken;
  if (!item) throw new Error('the document was parsed without its source');
  return item as Item;
}

/** The source of a map, when it is written as one. */
export function collectionOf(map: YAMLMap): CST.BlockMap | CST.FlowCollection | undefined {
  const token = map.srcToken as CST.Token | undefined;
  return token?.type === 'block-map' || token?.type === 'flow-collection' ? token : undefined;
}

const endOfSource = (token: CST.SourceToken | undefined): number | undefined =>
  token && token.offset + token.source.length;

function lastOf(tokens: readonly CST.SourceToken[] | undefined): CST.SourceToken | undefined {
  return tokens?.findLast(({ type }) => !BETWEEN.has(type));
}

/** The end of what a value says: without blank lines, spaces and comments behind it. */
export function tokenEnd(text: string, token: CST.Token): number {
  switch (token.type) {
    case 'block-scalar':
      return blockScalarEnd(text, token);
    case 'block-map':
    case 'block-seq': {
      const last = (token.items as Item[]).findLast((item) => itemEnd(text, item) !== undefined);
      return (last && itemEnd(text, last)) ?? token.offset;
    }
    case 'flow-collection':
      return endOfSource(token.end.find(({ type }) => type.endsWith('-end'))) ?? token.offset;
    default:
      return token.offset + ('source' in token ? token.source.length : 0);
  }
}

function blockScalarEnd(text: string, token: CST.BlockScalar): number {
  const props = token.props as CST.SourceToken[];
  const body = endOfSource(props.at(-1)) ?? token.offset;
  let end = body + token.source.length;
  while (end > body && /\s/.test(text.charAt(end - 1))) end -= 1;
  return end > body ? end : (endOfSource(props[0]) ?? token.offset);
}

/** Undefined: the item holds only blanks and comments. */
function itemEnd(text: string, { start, key, sep, value }: Item): number | undefined {
  if (value) return tokenEnd(text, value);
  return endOfSource(lastOf(sep)) ?? (key ? tokenEnd(text, key) : endOfSource(lastOf(start)));
}

export function pairStart({ start, key, sep }: Item): number {
  return start.find(({ type }) => !BETWEEN.has(type))?.offset ?? key?.offset ?? sep?.[0]?.offset ?? 0;
}

export function pairEnd(text: string, item: Item): number {
  return itemEnd(text, item) ?? pairStart(item);
}

/** Right after the colon; undefined where a key stands alone. */
export function afterColon({ sep }: Item): number | undefined {
  return endOfSource(sep?.find(({ type }) => type === 'map-value-ind'));
}

/** Right after the colon and the anchor and tag behind it. */
export function afterProperties({ sep }: Item): number | undefined {
  return endOfSource(lastOf(sep));
}

/** The comment on the line where a value that goes on below is introduced. */
export function headComment({ sep, value }: Item): string {
  const tokens = [...(sep ?? []), ...(value?.type === 'block-scalar' ? (value.props as CST.SourceToken[]) : [])];
  const line = tokens.findIndex(({ type }) => type === 'newline');
  const comment = tokens.slice(0, line < 0 ? undefined : line).find(({ type }) => type === 'comment');
  return comment ? ` ${comment.source}` : '';
}

/** The commas before and after a pair of a flow map. */
export function commasAround(
  collection: CST.FlowCollection,
  item: Item,
): readonly [CST.SourceToken | undefined, CST.SourceToken | undefined] {
  const next = collection.items[collection.items.indexOf(item) + 1];
  const comma = (tokens: readonly CST.SourceToken[] | undefined) => tokens?.find(({ type }) => type === 'comma');
  return [comma(item.start), comma(next?.start)];
}

export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** Before the line break that ends the line, or at the end of the text. */
export function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  if (end < 0) return text.length;
  return end > at && text[end - 1] === '\r' ? end - 1 : end;
}

/** The line break at the end of a line; the first one of the text where the line has none. */
export function lineBreakAt(text: string, at: number): string {
  const own = /^\r?\n/.exec(text.slice(at, at + 2)) ?? /\r?\n/.exec(text);
  return own?.[0] ?? '\n';
}

export const isBlank = (text: string): boolean => /^\s*$/.test(text);
