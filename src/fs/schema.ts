// The nouns of the file methods.

import { z } from 'zod';
import { schema } from '../model/schema.ts';

/** In characters; the kernel takes no longer one. */
const MAX_PATH = 4_096;

export const AbsolutePath = schema(() =>
  z
    .string()
    .max(MAX_PATH)
    .refine((path) => path.startsWith('/'), {
      error: ({ input }) => `the path must be absolute: ${JSON.stringify(input)}`,
    })
    .refine((path) => !path.includes('\0'), { error: 'the path must not hold a NUL' }),
);

/** A count of bytes, or a place in a file. */
export const ByteCount = schema(() => z.int().min(0));
