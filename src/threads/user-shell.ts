// A command that the user runs in a thread: outside the sandbox, shown as an item, and told to the model of the next turn.

import { endedCommand } from '../agent/command-item.ts';
import type { ToolParts } from '../agent/tools.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import { commandActions } from '../children/command-actions.ts';
import { shellCommand } from '../children/shell-command.ts';
import { loadShellParser } from '../children/shell-line.ts';
import { displayCommand } from '../children/shell-quote.ts';
import type { ContextItem } from '../model/context.ts';
import type { ThreadEvent } from '../model/event.ts';
import { newId, type TurnId } from '../model/ids.ts';
import type { ItemOf } from '../model/item.ts';
import { confinementOf } from '../process/confinement.ts';
import { OutputCollector, TextDeltas } from '../process/output.ts';
import type { RunResult } from '../process/run.ts';
import { runCommand } from '../process/runner.ts';

export interface ShellRequest {
  readonly line: string;
  /** Milliseconds; default an hour. */
  readonly timeoutMs: number | undefined;
}

type CommandItem = ItemOf<'commandExecution'>;

const DEFAULT_TIMEOUT_MS = 3_600_000;
/** Bytes of the output that the model is shown. */
const SHOWN_TO_MODEL = 16 * 1024;

export class UserShell {
  readonly #request: ShellRequest;
  readonly #tools: ToolParts;
  readonly #argv: readonly [string, string, string];
  #item: CommandItem;

  private constructor(
    request: ShellRequest,
    tools: ToolParts,
    argv: readonly [string, string, string],
    item: CommandItem,
  ) {
    this.#request = request;
    this.#tools = tools;
    this.#argv = argv;
    this.#item = item;
  }

  static async prepare(request: ShellRequest, cwd: string, tools: ToolParts, clock: Clock): Promise<UserShell> {
    const argv = shellCommand(request.line, tools.environment.SHELL);
    const actions = commandActions(await loadShellParser(), request.line, cwd);
    return new UserShell(request, tools, argv, {
      type: 'commandExecution',
      id: newId(),
      pluginId: null,
      scriptPath: null,
      command: displayCommand(argv),
      cwd,
      processId: null,
      source: 'userShell',
      status: 'inProgress',
      commandActions: [...actions],
      aggregatedOutput: null,
      exitCode: null,
      durationMs: null,
      startedAtMs: clock.now(),
      completedAtMs: null,
    });
  }

  started(turnId: TurnId): ThreadEvent {
    return { type: 'itemStarted', turnId, item: this.#item };
  }

  /** Runs to its end, which is on disk when this settles; an abort rejects and leaves the item to whoever ends the turn. */
  async run(port: TurnPort, signal: AbortSignal): Promise<readonly ContextItem[]> {
    const { clock, environment, hidden, runner } = this.#tools;
    const { id, cwd } = this.#item;
    const text = new TextDeltas();
    const shown = new OutputCollector(SHOWN_TO_MODEL);
    const send = async (piece: string) => {
      if (piece !== '')
        await port.stream({ type: 'delta', turnId: port.turnId, itemId: id, stream: 'output', parts: [piece] });
    };
    const command = {
      argv: this.#argv,
      cwd,
      env: environment,
      policy: confinementOf({ type: 'dangerFullAccess' }, [cwd], hidden),
      owner: port.threadId,
      timeoutMs: this.#request.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      onOutput: (chunk: Buffer) => {
        shown.push(chunk);
        return send(text.push(chunk));
      },
    };
    const result = await runCommand(command, runner, signal);
    await send(text.end());
    this.#item = endedCommand(this.#item, result, clock.now());
    await port.append([{ type: 'itemCompleted', turnId: port.turnId, item: this.#item }]);
    await result.settled;
    return [{ type: 'note', text: this.#note(result, result.spawnError ? result.output : shown.text()) }];
  }

  #note({ exitCode, timedOut }: RunResult, output: string): string {
    const end = timedOut ? 'was stopped by its time limit' : `ended with exit code ${exitCode}`;
    return `The user ran this command in their own shell, outside the sandbox:\n${this.#request.line}\nIt ${end}. Output:\n${output}`;
  }
}
