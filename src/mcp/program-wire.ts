// The wire to a server that is a program of ours: a message a line on its standard input and output, and nothing trusted.

import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { type Clock, sleep } from '../base/clock.ts';
import { closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Child, Children, ChildSpec } from '../children/spawn.ts';
import { concealed } from './concealing.ts';
import type { McpWire } from './wire.ts';

/** Characters of one message. */
const MAX_LINE = 16 * 1024 * 1024;
/** Milliseconds between the end of its output and its own. */
const EXIT_MS = 500;
/** Of its standard error, for our log when it ends. */
const KEPT_STDERR = 4_096;

export interface ProgramParts {
  readonly children: Children;
  readonly log: Log;
  readonly clock: Clock;
  /** Of the server, for our log. */
  readonly name: string;
  readonly spec: Pick<ChildSpec, 'argv' | 'cwd' | 'env'>;
  /** Of what it is given; it may print them. */
  readonly secrets: readonly string[];
}

/** The program starts with `start` and ends, with all that it started, with `close`. */
export function programWire({ children, log, clock, name, spec, secrets }: ProgramParts): McpWire {
  const life = new AbortController();
  let child: Child | undefined;
  let reason: string | undefined;
  /** How it has exited. */
  let exit: string | undefined;
  let stderr = '';

  /** Ends it for a reason that callers are told. */
  const give = (why: string) => {
    reason ??= why;
    void wire.close();
  };

  async function start(): Promise<void> {
    const started = await children.start({ ...spec, stdin: 'pipe', output: 'split' }, life.signal);
    child = started;
    const lines = lineReader(
      (line) => take(line),
      () => give(`it has sent a message of more than ${MAX_LINE} characters`),
    );
    started.stdout.on('data', (chunk: Buffer) => life.signal.aborted || lines(chunk));
    started.stdout.on('end', async () => {
      // That is how most exits begin, and which one it was says more.
      await Promise.race([started.exited, sleep(clock, EXIT_MS)]);
      give(exit ?? 'it has closed its standard output');
    });
    started.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('latin1')).slice(-KEPT_STDERR);
    });
    void started.exited.then(async ({ code, signal }) => {
      exit = `it has exited with ${code ?? signal ?? 'an unknown code'}`;
      // What it wrote before it ended may still be in the pipe, and what it left behind may hold that open.
      await Promise.race([ended(started), started.sweep()]);
      give(exit);
    });
  }

  function take(line: string): void {
    const message = messageIn(line);
    if (message && 'method' in message) wire.onmessage?.(message);
    // The library hands news on a moment later than answers: the last word on progress would come when nobody waits for it.
    else if (message) queueMicrotask(() => wire.onmessage?.(message));
    else if (line.trim() !== '')
      log.debug({ server: name, length: line.length }, 'an MCP server has written a line that is no message');
  }

  const wire: McpWire = {
    start,
    get endedBecause() {
      return reason;
    },
    send: (message) =>
      new Promise((resolve, reject) => {
        const { stdin } = child ?? {};
        if (!stdin || life.signal.aborted) {
          reject(new AppError('unavailable', reason ?? 'the MCP server is not running'));
          return;
        }
        stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
      }),
    close: closeOnce(async () => {
      reason ??= 'the connection was closed';
      if (stderr !== '')
        log.debug({ server: name, stderr: concealed(stderr, secrets) }, 'the last words of an MCP server');
      child?.stdin?.end();
      const ending = child?.end();
      life.abort(new AppError('cancelled', reason));
      wire.onclose?.();
      child?.stdout.destroy();
      child?.stderr?.destroy();
      await ending;
    }),
  };
  return wire;
}

const ended = (child: Child): Promise<void> => new Promise((resolve) => child.stdout.once('close', () => resolve()));

/** Calls `take` with each whole line; `overflow` once, when a line is too long, and nothing after it. */
function lineReader(take: (line: string) => void, overflow: () => void): (chunk: Buffer) => void {
  // Bytes that are no UTF-8 become replacement characters: the line is then no JSON, or a text that is wrong.
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let length = 0;
  let isOver = false;
  return (chunk) => {
    if (isOver) return;
    const pieces = decoder.write(chunk).split('\n');
    for (const [at, piece] of pieces.entries()) {
      parts.push(piece);
      length += piece.length;
      if (length > MAX_LINE) {
        isOver = true;
        parts = [];
        overflow();
        return;
      }
      if (at === pieces.length - 1) return;
      const line = parts.join('');
      parts = [];
      length = 0;
      take(line);
    }
  };
}

/** Undefined: no message of the protocol. An id that came back as a text counts where it can only be one of our numbers. */
function messageIn(line: string): JSONRPCMessage | undefined {
  if (!line.startsWith('{')) return undefined;
  let value: { readonly jsonrpc?: unknown; readonly id?: unknown; readonly method?: unknown };
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const isResponse = value.method === undefined;
  if (value.jsonrpc !== '2.0') return undefined;
  if (isResponse && typeof value.id === 'string' && !/^(?:0|[1-9]\d{0,14})$/.test(value.id)) return undefined;
  return value as JSONRPCMessage;
}
