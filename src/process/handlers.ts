// command/* and process/*: programs that a client starts, writes to and stops; they end with its connection.

import type { Log } from '../base/log.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import { checkExec, checkSize, checkSpawn, inputOf, type PlaceParts, specOfExec, specOfSpawn } from './asked.ts';
import { BUFFERED_CAP, BufferedOutput } from './buffered.ts';
import { ConnectionProcesses } from './connection-processes.ts';
import { deltaSender } from './delta-frames.ts';
import { LiveProcess, type Outlet, type ProcessParts, type ProcessSpec } from './live-process.ts';
import { commandMethods, commandOutputDelta, processExited, processMethods, processOutputDelta } from './methods.ts';

export interface ProcessHandlerParts extends PlaceParts, ProcessParts {
  readonly log: Log;
}

export function processHandlers(parts: ProcessHandlerParts): Route[] {
  return [...commandRoutes(parts), ...processRoutes(parts)];
}

function commandRoutes(parts: ProcessHandlerParts): Route[] {
  const processes = new ConnectionProcesses({
    kind: 'command/exec',
    missing: 'no active command/exec for process id',
    duplicate: 'duplicate active command/exec process id',
  });
  // Programs without a name end with the connection too.
  const unnamed = new ConnectionProcesses({ kind: 'command/exec without an id', missing: '', duplicate: '' });
  let count = 0;

  return implement(commandMethods, {
    commandExec: async (params, { session }) => {
      checkExec(params);
      const process = new LiveProcess('command/exec', parts);
      const { processId } = params;
      const [named, name] = typeof processId === 'string' ? [processes, processId] : [unnamed, String(count++)];
      named.claim(session, name, process);
      try {
        const isStreamed = params.streamStdoutStderr || params.tty;
        await started(process, async () => bounded(await specOfExec(params, session, parts), isStreamed));
        if (isStreamed) {
          const outlet: Outlet = (stream) =>
            deltaSender(session, commandOutputDelta, { processId: name, stream }, parts.clock);
          const { exitCode } = await process.run(outlet);
          return { exitCode, stdout: '', stderr: '' };
        }
        const output = new BufferedOutput();
        return output.result(await process.run((stream) => output.keeper(stream)));
      } finally {
        named.release(session, name);
      }
    },

    commandExecWrite: async (params, { session }) => {
      const bytes = inputOf(params, 'command/exec/write');
      await processes.find(session, params.processId).write(bytes, params.closeStdin);
      return {};
    },

    commandExecResize: async ({ processId, size }, { session }) => {
      checkSize(size, 'command/exec');
      await processes.find(session, processId).resize(size);
      return {};
    },

    commandExecTerminate: async ({ processId }, { session }) => {
      processes.find(session, processId).kill();
      return {};
    },
  });
}

function processRoutes(parts: ProcessHandlerParts): Route[] {
  const processes = new ConnectionProcesses({
    kind: 'process',
    missing: 'no active process for process handle',
    duplicate: 'duplicate active process handle',
  });

  /** Tells all output, then the end. */
  const report = async (session: Session, processHandle: string, process: LiveProcess, isStreamed: boolean) => {
    const output = new BufferedOutput();
    const outlet: Outlet = isStreamed
      ? (stream) => deltaSender(session, processOutputDelta, { processHandle, stream }, parts.clock)
      : (stream) => output.keeper(stream);
    try {
      const end = await process.run(outlet);
      const { exitCode, drainTimedOut } = end;
      processes.release(session, processHandle);
      const { stdout, stderr, capReached } = output.told(end);
      session.notify(processExited, {
        processHandle,
        exitCode,
        outputDrainTimedOut: drainTimedOut,
        stdout: stdout.text,
        stdoutCapReached: capReached.stdout,
        stderr: stderr.text,
        stderrCapReached: capReached.stderr,
      });
    } catch (error) {
      processes.release(session, processHandle);
      parts.log.error({ err: error, processHandle }, 'the end of a process could not be told');
    }
  };

  return implement(processMethods, {
    processSpawn: async (params, { session, afterReply }) => {
      checkSpawn(params);
      const { processHandle } = params;
      const process = new LiveProcess('process', parts);
      const isStreamed = params.streamStdoutStderr || params.tty;
      processes.claim(session, processHandle, process);
      try {
        await started(process, async () => bounded(await specOfSpawn(params, session.principal, parts), isStreamed));
      } catch (error) {
        processes.release(session, processHandle);
        throw error;
      }
      afterReply(() => void report(session, processHandle, process, isStreamed));
      return {};
    },

    processWriteStdin: async (params, { session }) => {
      const bytes = inputOf(params, 'process/writeStdin');
      await processes.find(session, params.processHandle).write(bytes, params.closeStdin);
      return {};
    },

    processResizePty: async ({ processHandle, size }, { session }) => {
      checkSize(size, 'process');
      await processes.find(session, processHandle).resize(size);
      return {};
    },

    processKill: async ({ processHandle }, { session }) => {
      processes.find(session, processHandle).kill();
      return {};
    },
  });
}

/** Starts what was asked for; whoever waits to write to it learns when it cannot be. */
async function started(process: LiveProcess, specOf: () => Promise<ProcessSpec>): Promise<void> {
  let spec: ProcessSpec;
  try {
    spec = await specOf();
  } catch (error) {
    process.abandon();
    throw error;
  }
  await process.start(spec);
}

/** What is told in one piece has to fit into one message. */
function bounded(spec: ProcessSpec, isStreamed: boolean): ProcessSpec {
  return isStreamed ? spec : { ...spec, cap: Math.min(spec.cap, BUFFERED_CAP) };
}
