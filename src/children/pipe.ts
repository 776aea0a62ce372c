// Real pipes between us and a child.

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Closable, closeOnce } from '../base/close.ts';
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

/** Runs `mkfifo` with these arguments. Rejects when it fails. */
export type RunMkfifo = (args: readonly string[]) => Promise<unknown>;

const runHere: RunMkfifo = (args) => run('mkfifo', [...args], { env: { PATH: '/usr/bin:/bin' } });

export interface PipeMaker extends Closable {
  /**
   * Opens a pipe for each direction, seen from the child. What Node makes for `stdio: 'pipe'` are sockets: two of them cannot keep
   * the order of two streams, a program cannot open them as `/dev/stdout`, and bash takes one as standard input for a remote login
   * and reads `.bashrc`. Named pipes, unlinked as soon as they are open, have none of these faults. Rejects as *unavailable*.
   */
  open(directions: readonly ('in' | 'out')[]): Promise<Pipes>;
}

/** Pipes that are made at once: making them takes a program, which costs as much as a command itself. */
const BATCH = 32;
/** With fewer than this left, more are made before they are needed. */
const LOW = 8;

/** Makes pipes with names in `folder` for a moment. */
export function createPipeMaker(folder: string = tmpdir(), mkfifo: RunMkfifo = runHere): PipeMaker {
  if (process.platform !== 'linux')
    return { open: (directions) => openNamed(directions, folder, mkfifo), close: closeOnce(async () => {}) };
  const stock: number[] = [];
  let wanted = 0;
  let making: Promise<void> | undefined;
  let isClosed = false;

  const make = () => {
    making ??= unnamedPipes(Math.max(BATCH, wanted), folder, mkfifo)
      .then((made) => void stock.push(...made))
      .finally(() => {
        making = undefined;
        if (isClosed) for (const descriptor of stock.splice(0)) closeSync(descriptor);
      });
    return making;
  };

  const take = async (count: number): Promise<number[]> => {
    wanted += count;
    try {
      while (stock.length < count) {
        if (isClosed) throw new AppError('unavailable', 'no more programs are started: closing');
        await make();
      }
    } finally {
      wanted -= count;
    }
    const taken = stock.splice(-count);
    if (stock.length < LOW && !isClosed) make().catch(() => {}); // whoever needs them next is told
    return taken;
  };

  return {
    async open(directions) {
      const keepers = await take(directions.length);
      try {
        return openedAs(
          directions,
          keepers.map((keeper) => `/proc/self/fd/${keeper}`),
          folder,
        );
      } finally {
        for (const keeper of keepers) closeSync(keeper);
      }
    },
    close: closeOnce(async () => {
      isClosed = true;
      await making?.catch(() => {});
      for (const descriptor of stock.splice(0)) closeSync(descriptor);
    }),
  };
}

/** Pipes without a name, each held open by a descriptor through which Linux lets both of its ends be opened again. */
async function unnamedPipes(count: number, folder: string, mkfifo: RunMkfifo): Promise<number[]> {
  const opened: number[] = [];
  const paths = await named(count, folder, mkfifo);
  try {
    for (const path of paths) opened.push(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    return opened;
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    throw cannotMake(folder, error);
  } finally {
    for (const path of paths) removeQuietly(path);
  }
}

async function openNamed(directions: readonly ('in' | 'out')[], folder: string, mkfifo: RunMkfifo): Promise<Pipes> {
  const paths = await named(directions.length, folder, mkfifo);
  try {
    return openedAs(directions, paths, folder);
  } finally {
    for (const path of paths) removeQuietly(path);
  }
}

async function named(count: number, folder: string, mkfifo: RunMkfifo): Promise<string[]> {
  const paths = Array.from({ length: count }, () => join(folder, `heddle-${randomUUID()}`));
  try {
    await mkfifo(['-m', '600', '--', ...paths]);
    return paths;
  } catch (error) {
    for (const path of paths) removeQuietly(path);
    throw cannotMake(folder, error);
  }
}

function openedAs(directions: readonly ('in' | 'out')[], paths: readonly string[], folder: string): Pipes {
  const opened: number[] = [];
  const open = (path: string, flags: number) => {
    const descriptor = openSync(path, flags);
    opened.push(descriptor);
    return descriptor;
  };
  try {
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
    throw cannotMake(folder, error);
  }
}

function cannotMake(folder: string, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  return new AppError('unavailable', `cannot make a pipe in ${folder}`, { path: folder }, { cause });
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
