// The methods of command/* and process/*: programs that belong to a connection and end with it.

import { z } from 'zod';
import { SandboxPolicy } from '../model/policy.ts';
import { atMost, optional, schema } from '../model/schema.ts';
import { MAX_ARGUMENTS, MAX_VARIABLES } from '../model/start-bounds.ts';
import { notification, request, unqueued } from '../rpc/declare.ts';

/** In character cells. */
const Size = schema(() => z.object({ rows: z.int().min(0).max(65_535), cols: z.int().min(0).max(65_535) }));
/** Changes to the environment; null takes a variable away. */
const Environment = schema(() => atMost(z.record(z.string(), z.string().nullish()), MAX_VARIABLES));
const Empty = schema(() => z.object({}));
const OutputStream = schema(() => z.enum(['stdout', 'stderr']));

/** The client's own name for a program; it is kept for a while after the end. */
const Name = schema(() => z.string().max(1024));

/** What both ways to start a program share. */
const program = () => ({
  command: atMost(z.array(z.string()), MAX_ARGUMENTS),
  tty: z.boolean().default(false),
  streamStdin: z.boolean().default(false),
  streamStdoutStderr: z.boolean().default(false),
  /** Bytes of each stream that are kept or sent; default 1 MiB. */
  outputBytesCap: optional(z.int().min(0)),
  /** Default 10 s. */
  timeoutMs: optional(z.int()),
  env: optional(Environment()),
  size: optional(Size()),
});

/** Whose output streams is told once only: a second start under the same key would show nothing. */
const notOnceOnly = { queue: unqueued, needs: 'process', mutates: false } as const;
const stop = { ...notOnceOnly, isStop: true } as const;

export const commandExec = request('command/exec', {
  params: () =>
    z.object({
      ...program(),
      processId: optional(Name()),
      disableOutputCap: z.boolean().default(false),
      disableTimeout: z.boolean().default(false),
      cwd: optional(z.string()),
      sandboxPolicy: optional(SandboxPolicy()),
      permissionProfile: optional(z.string()),
    }),
  result: () =>
    z.object({
      exitCode: z.int(),
      stdout: z.string(),
      stderr: z.string(),
      /** Ours, present when true: more was printed than is told here. */
      stdoutCapReached: z.literal(true).optional(),
      stderrCapReached: z.literal(true).optional(),
    }),
  ...notOnceOnly,
  experimentalFields: ['permissionProfile'],
});

const input = () => ({ deltaBase64: optional(z.string()), closeStdin: z.boolean().default(false) });

export const commandExecWrite = request('command/exec/write', {
  params: () => z.object({ processId: z.string(), ...input() }),
  result: Empty,
  ...notOnceOnly,
});

export const commandExecResize = request('command/exec/resize', {
  params: () => z.object({ processId: z.string(), size: Size() }),
  result: Empty,
  ...notOnceOnly,
});

export const commandExecTerminate = request('command/exec/terminate', {
  params: () => z.object({ processId: z.string() }),
  result: Empty,
  ...stop,
});

export const processSpawn = request('process/spawn', {
  params: () => z.object({ ...program(), processHandle: Name(), cwd: z.string() }),
  result: Empty,
  ...notOnceOnly,
  experimental: true,
});

export const processWriteStdin = request('process/writeStdin', {
  params: () => z.object({ processHandle: z.string(), ...input() }),
  result: Empty,
  ...notOnceOnly,
  experimental: true,
});

export const processResizePty = request('process/resizePty', {
  params: () => z.object({ processHandle: z.string(), size: Size() }),
  result: Empty,
  ...notOnceOnly,
  experimental: true,
});

export const processKill = request('process/kill', {
  params: () => z.object({ processHandle: z.string() }),
  result: Empty,
  ...stop,
  experimental: true,
});

/** What one piece of output says; `capReached` is true on the last piece of a stream that came to its cap. */
const delta = () => ({ stream: OutputStream(), deltaBase64: z.string(), capReached: z.boolean() });

export const commandOutputDelta = notification('command/exec/outputDelta', () =>
  z.object({ processId: z.string(), ...delta() }),
);

export const processOutputDelta = notification(
  'process/outputDelta',
  () => z.object({ processHandle: z.string(), ...delta() }),
  { experimental: true },
);

export const processExited = notification(
  'process/exited',
  () =>
    z.object({
      processHandle: z.string(),
      exitCode: z.int(),
      /** Something else still held the output some time after the exit; what came later is not told. */
      outputDrainTimedOut: z.boolean(),
      stdout: z.string(),
      stdoutCapReached: z.boolean(),
      stderr: z.string(),
      stderrCapReached: z.boolean(),
    }),
  { experimental: true },
);

export const commandMethods = { commandExec, commandExecWrite, commandExecResize, commandExecTerminate };
export const processMethods = { processSpawn, processWriteStdin, processResizePty, processKill };
