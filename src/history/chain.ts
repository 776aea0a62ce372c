// The hash chain over the kept events of a thread: any change of an old record shows.

import * as crypto from 'node:crypto';
import type { ThreadId } from '../model/ids.ts';

/** SHA-256 in base64url. */
export type Link = string;

export const LINK_LENGTH = 43;

const digest: (text: string | Buffer) => Link =
  // Half the cost of `createHash`, but newer than the oldest supported runtime.
  typeof crypto.hash === 'function'
    ? (text) => crypto.hash('sha256', text, 'base64url')
    : (text) => crypto.createHash('sha256').update(text).digest('base64url');

/** What the first record of a thread is linked to. */
export const firstLink = (id: ThreadId): Link => digest(`thread ${id}`);

/** The link of a record: over the link before it and its canonical text. */
export const nextLink = (previous: Link, text: string): Link => digest(previous + text);

/** A kept record as it is stored: its link, then its text. */
export const sealed = (link: Link, text: string): string => link + text;
export const linkOf = (record: string): Link => record.slice(0, LINK_LENGTH);
export const textOf = (record: string): string => record.slice(LINK_LENGTH);

/** The same with the bytes of a record that has a link already, in place. Gives the new link. */
export function sealAnew(record: Buffer, previous: Link): Link {
  record.write(previous, 'latin1');
  const link = digest(record);
  record.write(link, 'latin1');
  return link;
}

export interface Head {
  readonly seq: number;
  readonly link: Link;
}
