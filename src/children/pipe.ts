// Real pipes between us and a child.

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../base/errors.ts';

export interface Pipe {
  /** Our end. One that reads ends when every process that holds the other end has closed it or ended. */
  readonly stream: Socket;
  /** The end to hand to a child. */
  readonly descriptor: number;
}

export interface Pipes {
  /** In the order asked for. */
  readonly pipes: readonly Pipe[];
  /** Closes our copies of the children's ends, to be done once the child has them; idempotent. */
  release(): void;
}

const run = promisify(execFile);

/**
 * Opens a pipe for each direction, seen from the child. What Node makes for `stdio: 'pipe'` are sockets: two of them cannot keep
 * the order of two streams, a program cannot open them as `/dev/stdout`, and bash takes one as standard input for a remote login
 * and reads `.bashrc`. Named pipes, unlinked as soon as both ends are open, have none of these faults.
 */
export async function openPipes(directions: readonly ('in' | 'out')[], folder: string = tmpdir()): Promise<Pipes> {
  const paths = directions.map(() => join(folder, `heddle-${randomUUID()}`));
  const opened: number[] = [];
  const open = (path: string, flags: number) => {
    const descriptor = openSync(path, flags);
    opened.push(descriptor);
    return descriptor;
  };
  try {
    await run('mkfifo', ['-m', '600', '--', ...paths], { env: { PATH: '/usr/bin:/bin' } });
    const ends = paths.map((path, index) => openBoth(path, directions[index] === 'in', open));
    const pipes = ends.map(({ ours, theirs, isInput }) => ({
      stream: new Socket({ fd: ours, readable: !isInput, writable: isInput }),
      descriptor: theirs,
    }));
    let isReleased = false;
    const release = () => {
      if (!isReleased) for (const { descriptor } of pipes) closeSync(descriptor);
      isReleased = true;
    };
    return { pipes, release };
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    throw new AppError('unavailable', `cannot make a pipe in ${folder}`, { path: folder }, { cause: error });
  } finally {
    for (const path of paths) removeQuietly(path);
  }
}

interface Ends {
  readonly ours: number;
  readonly theirs: number;
  readonly isInput: boolean;
}

/** Our end never blocks, the child's does: they are opened apart so that the child does not inherit the mode of ours. */
function openBoth(path: string, isInput: boolean, open: (path: string, flags: number) => number): Ends {
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
  if (!isInput) {
    const ours = open(path, O_RDONLY | O_NONBLOCK);
    return { ours, theirs: open(path, O_WRONLY), isInput };
  }
  // Without a reader the writing end cannot be opened, and a reader that may block would wait for a writer.
  const opener = openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    const ours = open(path, O_WRONLY | O_NONBLOCK);
    return { ours, theirs: open(path, O_RDONLY), isInput };
  } finally {
    closeSync(opener);
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {} // it was never made
}
