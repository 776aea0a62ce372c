// What a call of a tool costs beside the turn that it is made in.
import { setTimeout as pause } from 'node:timers/promises';
import { quantile, treeCpuMs } from './meter.mjs';
import { repeat, withClient } from './workloads.mjs';

const CALLS = 20;
const TURNS = 5;

/**
 * Turns in which the model calls `true` in one answer after the other, less turns of the same words without calls. Processor
 * time is that of the server and of all below it: its helpers, and the commands, which are the same everywhere.
 */
export function toolCalls(target) {
  return withClient(target, async (client, server) => {
    const run = {};
    const ended = (item) => item.type === 'commandExecution' && item.status === 'completed' && item.exitCode === 0;
    let commands = 0;
    client.heard = ({ method, params }) => {
      if (method === 'item/completed' && ended(params.item)) commands += 1;
    };
    for (const calls of [0, CALLS]) {
      const threadId = await client.startThread(target.workspace);
      const turn = () => client.turn(threadId, 1, 0, calls);
      await repeat(2, turn);
      await pause(100);
      const before = treeCpuMs(server.pid);
      const latency = quantile(await repeat(TURNS, turn), 0.5);
      await pause(100);
      run[calls] = { latency, cpu: (treeCpuMs(server.pid) - before) / TURNS };
    }
    if (commands !== (2 + TURNS) * CALLS) throw new Error(`${commands} commands have run to their end`);
    const perCall = (figure) => (run[CALLS][figure] - run[0][figure]) / CALLS;
    return { latency: perCall('latency'), cpu: perCall('cpu') };
  });
}
