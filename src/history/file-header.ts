// The first pages of the database file, looked at before it is opened: opening what is no database would end the process.

import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';

const HEADER_BYTES = 24;
const META_PAGE = 0x08;
const MAGIC = 0xbeefc0de;
/** Bytes by which a sound file may be shorter than its last page says: pages at its end that were never written. */
const SLACK = 1024 * 1024;

/** What is wrong with the file; undefined: it is missing, or begins like a database and has about the length of one. */
export function headerProblem(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const { size } = statSync(path);
  const first = readPage(path, 0);
  const problem = metaProblem(first);
  if (problem !== undefined) return problem;
  const pageSize = first.readUInt32LE(HEADER_BYTES + 24);
  if (pageSize < 256 || pageSize > 65_536) return 'its first page gives no size of pages';
  const second = readPage(path, pageSize);
  const other = metaProblem(second);
  if (other !== undefined) return other;
  const newest = [first, second].map(place).reduce((a, b) => (b.transaction > a.transaction ? b : a));
  const needed = (newest.lastPage + 1n) * BigInt(pageSize);
  return BigInt(size + SLACK) < needed ? `it has ${size} bytes and should have ${needed}` : undefined;
}

function readPage(path: string, offset: number): Buffer {
  const page = Buffer.alloc(HEADER_BYTES + 152);
  const file = openSync(path, 'r');
  try {
    return page.subarray(0, readSync(file, page, 0, page.length, offset));
  } finally {
    closeSync(file);
  }
}

function metaProblem(page: Buffer): string | undefined {
  if (page.length < HEADER_BYTES + 136) return 'it is too short';
  const isMeta = (page.readUInt16LE(18) & META_PAGE) !== 0 && page.readUInt32LE(HEADER_BYTES) === MAGIC;
  return isMeta ? undefined : 'it does not begin like a database';
}

const place = (page: Buffer) => ({
  lastPage: page.readBigUInt64LE(HEADER_BYTES + 120),
  transaction: page.readBigUInt64LE(HEADER_BYTES + 128),
});
