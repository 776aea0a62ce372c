// One real pipe for everything a command prints, so that standard output and standard error keep their order.

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../base/errors.ts';

export interface OutputPipe {
  /** Ends when every process that holds the other end has closed it or ended. */
  readonly reader: Socket;
  /** The end to hand to a child; ours must be closed with `release` once the child has it. */
  readonly writer: number;
  /** Closes our copy of the writing end; idempotent. */
  release(): void;
}

const run = promisify(execFile);

/**
 * Opens a pipe. What Node makes for `stdio: 'pipe'` are sockets, one for each stream: their order is lost, and a program that opens
 * `/dev/stdout` by its path gets an error. A named pipe, unlinked as soon as both ends are open, has neither fault.
 */
export async function openPipe(folder: string = tmpdir()): Promise<OutputPipe> {
  const path = join(folder, `heddle-${randomUUID()}`);
  try {
    await run('mkfifo', ['-m', '600', path], { env: { PATH: '/usr/bin:/bin' } });
  } catch (error) {
    throw new AppError('unavailable', `cannot make a named pipe in ${folder}`, { path: folder }, { cause: error });
  }
  let readEnd: number | undefined;
  try {
    readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(path, constants.O_WRONLY);
    let isOpen = true;
    const release = () => {
      if (isOpen) closeSync(writer);
      isOpen = false;
    };
    return { reader: new Socket({ fd: readEnd, readable: true, writable: false }), writer, release };
  } catch (error) {
    if (readEnd !== undefined) closeSync(readEnd);
    throw error;
  } finally {
    unlinkSync(path);
  }
}
