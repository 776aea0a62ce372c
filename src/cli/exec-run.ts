// Runs one turn for `heddle exec` and tells how it ended by the exit code.

import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { AppError, messageOf } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import type { Turn } from '../model/turn.ts';
import { threadResume, threadStart } from '../threads/thread-methods.ts';
import { turnInterrupt, turnStart } from '../threads/turn-methods.ts';
import { mayTakeTurns, placeOf, visit } from './entrance.ts';
import { type Approvals, createApprovals } from './exec-approval.ts';
import { checkDoor, type Door, type DoorOptions, isSameMachine, openDoor } from './exec-door.ts';
import { type ExecOutput, jsonOutput, PlainOutput } from './exec-output.ts';
import { EXIT, type ExitCode, wordsOf } from './exit-codes.ts';
import { followTurn } from './follow-turn.ts';
import { terminalAsking } from './terminal-asking.ts';

export interface ExecOptions extends DoorOptions {
  /** `-` or nothing: it comes from standard input. */
  readonly prompt: string;
  readonly folder: string | undefined;
  /** The thread to go on with; undefined: a new one. */
  readonly thread: string | undefined;
  /** Files that go with the prompt. */
  readonly images: readonly string[];
  /** A file with the JSON schema that the answer has to fit. */
  readonly outputSchema: string | undefined;
  readonly approvals: 'ask' | 'decline' | undefined;
  readonly json: boolean;
}

/** Rejects as *invalid* for flags that do not fit together; everything later is told by the code. */
export async function exec(options: ExecOptions): Promise<ExitCode> {
  checkDoor(options);
  checkFiles(options);
  const outputSchema = options.outputSchema === undefined ? undefined : schemaIn(options.outputSchema);
  const terminal = options.approvals === 'decline' ? undefined : terminalAsking();
  if (options.approvals === 'ask' && !terminal)
    throw new AppError(
      'invalid',
      '`--approvals ask` needs a terminal to ask on; use `--approvals decline` without one',
    );
  const isPiped = options.prompt === '' || options.prompt === '-';
  const prompt = isPiped && !process.stdin.isTTY ? await readAll(process.stdin) : options.prompt;
  if (prompt.trim() === '' || prompt === '-') throw new AppError('invalid', 'the prompt is empty; say what to do');
  const streams = { out: process.stdout, err: process.stderr };
  const interruption = watchForInterrupt();
  const output = untilUnread(options.json ? jsonOutput(streams) : new PlainOutput(streams, process.env), interruption);
  const approvals = createApprovals(output, terminal);
  const { answers } = approvals;
  return visit(
    {
      open: () => openDoor(options),
      introduction: { name: 'heddle_exec', title: 'heddle exec', answers },
      tell: (why) => output.note(why, 'red'),
    },
    async (client, door) => {
      if (!mayTakeTurns(door, output)) return EXIT.failed;
      try {
        return await runTurn({ ...options, prompt, outputSchema }, client, door, output, approvals, interruption);
      } catch (error) {
        output.note(wordsOf(error), 'red');
        return interruption.aborted ? EXIT.interrupted : EXIT.failed;
      }
    },
  );
}

async function runTurn(
  options: Omit<ExecOptions, 'outputSchema'> & { readonly outputSchema: unknown },
  client: Client,
  door: Door,
  output: ExecOutput,
  approvals: Approvals,
  interruption: AbortSignal,
): Promise<ExitCode> {
  const { folder, outputSchema } = options;
  const notifications = client.notifications();
  const place = placeOf(folder, door);
  const { thread } =
    options.thread === undefined
      ? await client.request(threadStart, place)
      : await client.request(threadResume, {
          threadId: options.thread,
          excludeTurns: true,
          ...(folder === undefined ? {} : place),
        });
  if (process.stderr.isTTY && !options.json) output.note(`thread ${thread.id}`);
  const input = [
    { type: 'text' as const, text: options.prompt, text_elements: [] },
    ...options.images.map((path) => ({ type: 'localImage' as const, path: door.isHere ? resolve(path) : path })),
  ];
  const { turn } = await client.request(turnStart, {
    threadId: thread.id,
    input,
    ...(outputSchema === undefined ? {} : { outputSchema }),
  });
  const interrupt = () => {
    output.note('interrupting; once more ends at once', 'yellow');
    client.request(turnInterrupt, { threadId: thread.id, turnId: turn.id }).catch((error: unknown) => {
      output.note(`it could not be interrupted: ${messageOf(error)}`, 'red');
    });
  };
  if (interruption.aborted) interrupt();
  else interruption.addEventListener('abort', interrupt, { once: true });
  const ended = await followTurn(client, notifications, { threadId: thread.id, turnId: turn.id }, output);
  return outcomeOf(ended.turn, output, approvals.hasRefused(), ended.wasDeclined);
}

function schemaIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new AppError('invalid', `\`--output-schema ${file}\` is no file with JSON: ${messageOf(error)}`);
  }
}

/** Another machine has other files, and says itself what it has not. */
function checkFiles({ folder, images, remote }: ExecOptions): void {
  if (remote !== undefined && !isSameMachine(remote)) return;
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory();
  if (folder !== undefined && !isFolder(folder))
    throw new AppError('invalid', `\`--cd ${folder}\` is no folder; name one that exists`);
  const missing = images.find((path) => isFolder(path) !== false);
  if (missing !== undefined) throw new AppError('invalid', `\`--image ${missing}\` is no file; name one that exists`);
}

/** `wasDeclined`: a command was, by whomever; an interrupt declines what is open, and stays an interrupt. */
function outcomeOf(turn: Turn, output: ExecOutput, hasRefused: boolean, wasDeclined: boolean): ExitCode {
  if (turn.status === 'failed') {
    output.note(`the turn failed: ${turn.error?.message ?? 'no reason given'}`, 'red');
    return EXIT.failed;
  }
  if (hasRefused || (wasDeclined && turn.status === 'completed')) return EXIT.refused;
  if (turn.status === 'completed') return EXIT.done;
  output.note('the turn was interrupted', 'yellow');
  return EXIT.interrupted;
}

/** Aborts at the first signal; the second one ends the process at once. */
function watchForInterrupt(): AbortSignal {
  const first = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (first.signal.aborted) endNow(signal);
      first.abort();
    });
  // Whoever read our output has gone; so is the reason to go on.
  process.stdout.on('error', () => first.abort(UNREAD));
  return first.signal;
}

const UNREAD = 'nobody reads the answer';

/** Says nothing any more once nobody reads the answer. */
function untilUnread(output: ExecOutput, interruption: AbortSignal): ExecOutput {
  const isRead = (): boolean => interruption.reason !== UNREAD;
  return {
    show: (notification) => void (isRead() && output.show(notification)),
    note: (text, style) => void (isRead() && output.note(text, style)),
  };
}

/** By the signal itself: an ordinary exit in the middle of a commit waits for the store for ever. */
function endNow(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
