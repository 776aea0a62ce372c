// Changes of files as lines for people: each file with its kind, and what changes in it.

import type { FileUpdateChange } from '../model/item.ts';
import { visible } from './terminal.ts';

/** One line: what happens to which file. */
export function headOf({ path, kind }: FileUpdateChange): string {
  if (kind.type === 'update' && kind.move_path !== null) return visible(`moved: ${path} to ${kind.move_path}`);
  return visible(`${{ add: 'new', delete: 'deleted', update: 'changed' }[kind.type]}: ${path}`);
}

/** Every line of the change, with a sign before it. */
export function bodyOf({ kind, diff }: FileUpdateChange): readonly string[] {
  if (diff === '') return [];
  const isMove = kind.type === 'update' && kind.move_path !== null;
  const text = isMove ? diff.slice(0, diff.lastIndexOf('\n\nMoved to: ')) : diff;
  const lines = text.replace(/\n$/, '').split('\n');
  const sign = { add: '+', delete: '-', update: '' }[kind.type];
  return lines.filter((line) => line !== '' || sign !== '').map((line) => visible(sign + line));
}
