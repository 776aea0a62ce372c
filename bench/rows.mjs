// The rows of the table: which workload gives which figures, and what is aimed at.
import { ErrorAnswer } from './client.mjs';
import { bufferedOutput, commandTrue, streamedOutput, terminalEcho } from './commands.mjs';
import { toolCalls } from './tool-calls.mjs';
import {
  burst,
  fanOut,
  file,
  idleConnections,
  inFlight,
  oneDeltaTurn,
  readFile,
  starts,
  streamsAtOnce,
  streamsPaced,
  threadStarts,
} from './workloads.mjs';

const UNKNOWN_METHOD = -32601;

/**
 * `figures`: by the name that `run` gives: label, unit, the target (text) and the ratio to the reference that is aimed at.
 * Beside its figures a workload may give `own`: the share of the deltas that came as notifications of their own.
 */
export const ROWS = [
  // First, while no server has loaded threads of other rows: their ids would make up most of the answer.
  {
    id: 'in-flight',
    run: inFlight('thread/loaded/list', () => ({})),
    figures: {
      rate: { label: '64 in flight, ws, thread/loaded/list', unit: '/s', target: '>= 35,000', ratio: '>= 3' },
    },
  },
  {
    id: 'turn',
    run: oneDeltaTurn,
    figures: {
      latency: { label: 'one-delta turn, ws, durable: p50', unit: 'ms', target: '<= 7', ratio: '<= 0.15' },
      p99: { label: '  the same: p99', unit: 'ms', target: '', ratio: '' },
      cpu: { label: '  server CPU per turn', unit: 'ms', target: '<= 5', ratio: '<= 0.15' },
    },
  },
  {
    id: 'tool-call',
    run: toolCalls,
    figures: {
      latency: { label: 'a tool call in a turn (exec_command true)', unit: 'ms', target: '', ratio: '' },
      cpu: { label: '  CPU per call, command included', unit: 'ms', target: '', ratio: '' },
    },
  },
  {
    id: 'thread-start',
    run: threadStarts,
    figures: {
      ws: { label: 'thread/start, ws', unit: 'ms', target: '<= 2', ratio: '<= 0.2' },
      stdio: { label: 'thread/start, stdio', unit: 'ms', target: '<= 2', ratio: '<= 0.2' },
    },
  },
  {
    id: 'burst',
    run: burst,
    figures: {
      rate: { label: '5,000 deltas of 20 B over one ws', unit: '/s', target: '>= 70,000', ratio: '>= 4' },
      cpu: { label: '  server CPU per 1,000 deltas', unit: 'ms', target: '<= 12', ratio: '<= 0.13' },
    },
  },
  {
    id: 'fan-out',
    run: fanOut,
    figures: { rate: { label: 'fan-out to 8 ws, delivered', unit: '/s', target: '>= 160,000', ratio: '>= 3.5' } },
  },
  {
    id: 'streams',
    run: streamsAtOnce,
    figures: { rate: { label: '50 streams at once', unit: '/s', target: '>= 45,000', ratio: '>= 6' } },
  },
  {
    id: 'paced',
    run: streamsPaced,
    figures: {
      cpu: { label: '50 streams at 50 deltas/s: CPU per 1,000', unit: 'ms', target: '<= 300', ratio: '<= 0.4' },
    },
  },
  {
    id: 'start',
    run: starts,
    figures: {
      existing: { label: 'stdio start to initialize, existing data', unit: 'ms', target: '<= 75', ratio: '<= 1.2' },
      fresh: { label: 'stdio start to initialize, new data', unit: 'ms', target: '<= 75', ratio: '<= 0.5' },
    },
  },
  {
    id: 'idle',
    run: idleConnections,
    figures: { memory: { label: 'idle connection', unit: 'KiB', target: '<= 40', ratio: '<= 0.25' } },
  },
  {
    id: 'metadata',
    run: inFlight('fs/getMetadata', (target) => ({ path: file(target, 'small.txt', 10) })),
    figures: { rate: { label: '64 in flight, ws, fs/getMetadata', unit: '/s', target: '>= 18,000', ratio: '>= 2' } },
  },
  {
    id: 'read-file',
    run: readFile,
    figures: {
      small: { label: 'fs/readFile of 4 KiB', unit: 'ms', target: '', ratio: '<= 0.83' },
      latency: { label: 'fs/readFile of 1 MiB', unit: 'ms', target: '<= 6', ratio: '<= 1.1' },
    },
  },
  {
    id: 'read-small-files',
    run: inFlight('fs/readFile', (target) => ({ path: file(target, 'page.bin', 4_096) })),
    figures: { rate: { label: '64 in flight, ws, fs/readFile of 4 KiB', unit: '/s', target: '', ratio: '>= 1.2' } },
  },
  {
    id: 'read-large-files',
    run: inFlight('fs/readFile', (target) => ({ path: file(target, 'large.bin', 1 << 20) }), 256),
    figures: {
      rate: { label: '64 in flight, ws, fs/readFile of 1 MiB', unit: '/s', target: '>= 0.85 floor', ratio: '' },
    },
  },
  {
    id: 'command',
    run: commandTrue,
    figures: { latency: { label: 'command/exec true', unit: 'ms', target: '', ratio: '<= 0.7' } },
  },
  {
    id: 'output-streamed',
    run: streamedOutput,
    figures: { rate: { label: '10 MiB of output, streamed', unit: 'MiB/s', target: '>= 0.85 floor', ratio: '' } },
  },
  {
    id: 'output-buffered',
    run: bufferedOutput,
    figures: { rate: { label: '10 MiB of output, buffered', unit: 'MiB/s', target: '>= 0.85 floor', ratio: '' } },
  },
  {
    id: 'terminal',
    run: terminalEcho,
    figures: { latency: { label: 'terminal echo', unit: 'ms', target: '', ratio: '' } },
  },
];

/** What a row that could not be measured is called in the table. */
export function outcomeOf(error) {
  return error instanceof ErrorAnswer && error.code === UNKNOWN_METHOD ? 'not offered' : 'failed';
}
