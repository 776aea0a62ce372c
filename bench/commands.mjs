// Workloads of commands: how long a start takes, how fast output comes, and how soon a terminal answers.
import { quantile } from './meter.mjs';
import { file, repeat, withClient } from './workloads.mjs';

const BARE = { sandboxPolicy: { type: 'dangerFullAccess' } };
const MIB = 1 << 20;

const exec = (client, params) => client.request('command/exec', { ...BARE, ...params });

export function commandTrue(target) {
  return withClient(target, async (client) => {
    const times = await repeat(100, async () => (await exec(client, { command: ['true'] })).at);
    return { latency: quantile(times.slice(10), 0.5) };
  });
}

/** MiB per second of what a command prints, from asking for it to its end. */
function output(params) {
  return (target) =>
    withClient(target, async (client) => {
      const command = ['cat', file(target, 'output.txt', 10 * MIB)];
      const times = await repeat(
        9,
        async () => (await exec(client, { command, disableOutputCap: true, ...params })).at,
      );
      return { rate: 10_000 / quantile(times.slice(2), 0.5) };
    });
}

export const streamedOutput = output({ processId: 'output', streamStdoutStderr: true });
export const bufferedOutput = output({});

/** One character typed into a terminal, until it is shown. */
export function terminalEcho(target) {
  return withClient(target, async (client) => {
    const processId = 'terminal';
    const ended = exec(client, { command: ['cat'], processId, tty: true, disableTimeout: true });
    const echo = async () => {
      const shown = client.nextOutput();
      client.request('command/exec/write', { processId, deltaBase64: 'eA==' }).catch(() => {});
      return shown;
    };
    // What is typed before the terminal is there is refused.
    while (!(await accepted(client, processId)));
    const times = await repeat(200, echo);
    await client.request('command/exec/terminate', { processId });
    await ended;
    return { latency: quantile(times.slice(20), 0.5) };
  });
}

async function accepted(client, processId) {
  const shown = client.nextOutput();
  try {
    await client.request('command/exec/write', { processId, deltaBase64: 'eA==' });
    await shown;
    return true;
  } catch {
    return false;
  }
}
