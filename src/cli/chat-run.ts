// The conversation of `heddle chat`: a line is a turn, questions are asked in between, Ctrl-C stops what runs.

import { AppError, messageOf } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import type { ThreadId, TurnId } from '../model/ids.ts';
import { threadResume, threadStart } from '../threads/thread-methods.ts';
import { turnInterrupt, turnStart } from '../threads/turn-methods.ts';
import { mayTakeTurns, placeOf, visit } from './entrance.ts';
import { createApprovals } from './exec-approval.ts';
import { checkDoor, type Door, type DoorOptions, openDoor } from './exec-door.ts';
import { type ExecOutput, PlainOutput } from './exec-output.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { followTurn } from './follow-turn.ts';
import { flagsTo } from './running-server.ts';
import { paintFor } from './terminal.ts';
import { type TerminalAsking, terminalAsking } from './terminal-asking.ts';
import { everyItem, linesOf } from './threads-work.ts';

export interface ChatOptions extends DoorOptions {
  readonly folder: string | undefined;
  /** The thread to go on with; undefined: a new one. */
  readonly thread: string | undefined;
}

const PROMPT = '> ';

/** Rejects as *invalid* for flags that do not fit together, and without a terminal. */
export async function chat(options: ChatOptions): Promise<ExitCode> {
  checkDoor(options);
  const terminal = terminalAsking();
  if (!terminal)
    throw new AppError('invalid', 'there is no terminal to talk at; `heddle exec "…"` runs one turn without one');
  const output = new PlainOutput({ out: process.stdout, err: process.stderr }, process.env);
  const { answers } = createApprovals(output, terminal);
  return visit(
    {
      open: () => openDoor(options),
      introduction: { name: 'heddle_chat', title: 'heddle chat', answers },
      tell: (why) => output.note(why, 'red'),
    },
    async (client, door) => {
      if (!mayTakeTurns(door, output)) return EXIT.failed;
      const interrupts = new Interrupts();
      try {
        const threadId = await enter(client, options, door, output);
        await converse(client, threadId, { terminal, output, interrupts });
        output.note(`go on with it: heddle chat --thread ${threadId}${flagsTo(options)}`);
        return EXIT.done;
      } finally {
        interrupts.close();
      }
    },
  );
}

async function enter(client: Client, options: ChatOptions, door: Door, output: ExecOutput): Promise<ThreadId> {
  const { folder, thread: wanted } = options;
  const place = placeOf(folder, door);
  if (wanted === undefined) {
    const { thread, model, cwd } = await client.request(threadStart, place);
    output.note(`${model} in ${cwd}; Ctrl-D ends`);
    return thread.id;
  }
  await client.request(threadResume, { threadId: wanted, excludeTurns: true, ...(folder === undefined ? {} : place) });
  const paint = paintFor(process.stdout, process.env);
  for await (const { item } of everyItem(client, wanted))
    for (const line of linesOf(item, paint)) process.stdout.write(`${line}\n`);
  return wanted;
}

interface Room {
  readonly terminal: TerminalAsking;
  readonly output: ExecOutput;
  readonly interrupts: Interrupts;
}

/** Until the person ends it, or the connection does. */
async function converse(client: Client, threadId: ThreadId, room: Room): Promise<void> {
  const { terminal, output, interrupts } = room;
  const over = new AbortController();
  void client.closed.then(({ text }) => {
    if (!over.signal.aborted) output.note(`the connection has ended: ${text}`, 'red');
    over.abort();
  });
  process.stdout.once('error', () => {
    interrupts.act();
    over.abort();
  });
  while (!over.signal.aborted) {
    const line = await interrupts.during(
      () => over.abort(),
      () => terminal.line(PROMPT, over.signal).catch(() => undefined),
    );
    if (line === undefined || line.trim() === '/quit') break;
    if (line.trim() === '') continue;
    await turn(client, { threadId, line }, room).catch((error: unknown) => output.note(messageOf(error), 'red'));
  }
  over.abort();
}

async function turn(
  client: Client,
  { threadId, line }: { readonly threadId: ThreadId; readonly line: string },
  { output, interrupts }: Room,
): Promise<void> {
  const input = [{ type: 'text' as const, text: line, text_elements: [] }];
  const notifications = client.notifications();
  let turnId: TurnId | undefined;
  let isUnwanted = false;
  const stop = () => {
    isUnwanted = true;
    if (turnId === undefined) return;
    output.note('interrupting', 'yellow');
    client
      .request(turnInterrupt, { threadId, turnId })
      .catch((error: unknown) => output.note(`it could not be interrupted: ${messageOf(error)}`, 'red'));
  };
  const { turn: ended } = await interrupts.during(stop, async () => {
    const started = await client.request(turnStart, { threadId, input });
    turnId = started.turn.id;
    if (isUnwanted) stop();
    return followTurn(client, notifications, { threadId, turnId }, output);
  });
  if (ended.status === 'failed') output.note(`the turn failed: ${ended.error?.message ?? 'no reason given'}`, 'red');
  if (ended.status === 'interrupted') output.note('the turn was interrupted', 'yellow');
}

/** What Ctrl-C means at the moment. */
class Interrupts {
  #act: () => void = () => {};
  /** As if Ctrl-C had been typed. */
  readonly act = (): void => this.#act();

  constructor() {
    process.on('SIGINT', this.act);
  }

  async during<T>(act: () => void, work: () => Promise<T>): Promise<T> {
    this.#act = act;
    try {
      return await work();
    } finally {
      this.#act = () => {};
    }
  }

  close(): void {
    process.off('SIGINT', this.act);
  }
}
