// Many lines to standard output or into a new file, at the pace of whoever takes them.

import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError, codeOf } from '../base/errors.ts';

/** `output` undefined: standard output. Rejects as *unavailable* when the file exists; one that could not be finished is removed. */
export function writeLines(output: string | undefined, lines: AsyncIterable<string>): Promise<void> {
  return output === undefined ? toStandardOutput(lines) : toNewFile(output, lines);
}

/** A reader that has had enough is no failure. */
async function toStandardOutput(lines: AsyncIterable<string>): Promise<void> {
  await pipeline(Readable.from(lines), process.stdout, { end: false }).catch((error: unknown) => {
    if (codeOf(error) !== 'EPIPE') throw error;
  });
}

async function toNewFile(path: string, lines: AsyncIterable<string>): Promise<void> {
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(Readable.from(lines), file).catch(async (error: unknown) => {
    if (codeOf(error) === 'EEXIST') throw new AppError('unavailable', `${path} exists: name another file`);
    await rm(path, { force: true });
    throw error;
  });
}
