// Reading and changing files and folders, as declared methods.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { request, unqueued } from '../rpc/declare.ts';
import { AbsolutePath, ByteCount } from './schema.ts';

const nothing = () => z.object({});
const path = () => z.object({ path: AbsolutePath() });

export const fsReadFile = request('fs/readFile', {
  params: () =>
    z.object({
      path: AbsolutePath(),
      /** Ours: a part of the file, cut to what one answer can carry. */
      offset: optional(ByteCount()),
      length: optional(ByteCount()),
      /** Whether the version is wanted. Default: with whole files only, because it takes reading the whole file. */
      withVersion: optional(z.boolean()),
    }),
  result: () =>
    z.object({
      dataBase64: z.string(),
      /** Bytes of the whole file. */
      size: z.int(),
      /** SHA-256 of the whole content, in hex. */
      version: z.string().optional(),
    }),
  queue: unqueued,
  needs: 'fs',
  mutates: false,
  hasLargeAnswer: true,
});

export const fsWriteFile = request('fs/writeFile', {
  params: () =>
    z.object({
      path: AbsolutePath(),
      dataBase64: z.string(),
      /** Ours: nothing is written unless the file has this version; `none`: unless there is no file. */
      expectedVersion: optional(z.string()),
      /**
       * The data are one piece of a file that is sent in several: each begins where the last one ended, 0 begins anew. The
       * pieces are kept aside and put in place by the last one; they are forgotten when the connection ends.
       */
      offset: optional(ByteCount()),
      isLast: optional(z.boolean()),
    }),
  result: () => z.object({ version: z.string().optional(), received: z.int().optional() }),
  // Pieces of one file in the order in which they were sent.
  queue: (params) => ({ key: `fs:${params.path}` }),
  needs: 'fs',
  mutates: 'effect',
});

export const fsCreateDirectory = request('fs/createDirectory', {
  params: () => z.object({ path: AbsolutePath(), recursive: optional(z.boolean()) }),
  result: nothing,
  queue: unqueued,
  needs: 'fs',
  mutates: 'effect',
});

export const fsGetMetadata = request('fs/getMetadata', {
  params: path,
  result: () =>
    z.object({
      /** Of what a link leads to. */
      isDirectory: z.boolean(),
      isFile: z.boolean(),
      /** Of the path itself. */
      isSymlink: z.boolean(),
      createdAtMs: z.int(),
      modifiedAtMs: z.int(),
      size: z.int(),
      /** Permission bits. */
      mode: z.int(),
    }),
  queue: unqueued,
  needs: 'fs',
  mutates: false,
});

export const fsReadDirectory = request('fs/readDirectory', {
  params: () =>
    z.object({
      path: AbsolutePath(),
      /** Ours: names after this one; with `limit` a page of a large folder. */
      after: optional(z.string()),
      limit: optional(z.int().min(1)),
    }),
  result: () =>
    z.object({
      /** Sorted by name, without links that lead nowhere. */
      entries: z.array(
        z.object({ fileName: z.string(), isDirectory: z.boolean(), isFile: z.boolean(), isSymlink: z.boolean() }),
      ),
      /** There is more: `after` of the next page. */
      nextAfter: z.string().optional(),
    }),
  queue: unqueued,
  needs: 'fs',
  mutates: false,
  hasLargeAnswer: true,
});

export const fsRemove = request('fs/remove', {
  params: () => z.object({ path: AbsolutePath(), recursive: optional(z.boolean()), force: optional(z.boolean()) }),
  result: nothing,
  queue: unqueued,
  needs: 'fs',
  mutates: 'effect',
});

export const fsCopy = request('fs/copy', {
  params: () =>
    z.object({
      sourcePath: AbsolutePath(),
      destinationPath: AbsolutePath(),
      recursive: optional(z.boolean()),
      /** Ours: a name for `fs/cancelCopy`. */
      copyId: optional(z.string()),
    }),
  result: () =>
    z.object({
      /** What is neither file, folder nor link and was left out: the first hundred. */
      skippedPaths: z.array(z.string()).optional(),
    }),
  queue: unqueued,
  needs: 'fs',
  mutates: 'effect',
});

export const fsCancelCopy = request('fs/cancelCopy', {
  params: () => z.object({ copyId: z.string() }),
  result: () => z.object({ cancelled: z.boolean() }),
  queue: unqueued,
  needs: 'fs',
  mutates: false,
  isStop: true,
});

export const fsMethods = {
  fsReadFile,
  fsWriteFile,
  fsCreateDirectory,
  fsGetMetadata,
  fsReadDirectory,
  fsRemove,
  fsCopy,
  fsCancelCopy,
};
