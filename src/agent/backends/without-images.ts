// A conversation as a model can take it that sees no images: words stand in their places.

import type { ContextItem } from '../../model/context.ts';

const LEFT_OUT = '[an image is left out here: this model takes none]';

/** The same objects where nothing is left out. */
export function withoutImages(context: readonly ContextItem[]): readonly ContextItem[] {
  return context.map((item) => {
    if (item.type === 'user' && item.content.some(isImage)) {
      const words = { type: 'text' as const, text: LEFT_OUT, text_elements: [] };
      return { ...item, content: item.content.map((part) => (isImage(part) ? words : part)) };
    }
    if (item.type === 'toolOutput' && item.content?.some(isImage)) {
      const words = { type: 'text' as const, text: LEFT_OUT };
      return { ...item, content: item.content.map((part) => (isImage(part) ? words : part)) };
    }
    return item;
  });
}

const isImage = ({ type }: { readonly type: string }): boolean => type === 'image' || type === 'localImage';
