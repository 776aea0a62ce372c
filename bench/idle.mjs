// Measures a server that nobody uses: CPU and disk of ten minutes with loaded threads and no client. Prints figures; gives no verdict.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect } from './client.mjs';
import { startHeddle } from './heddle-server.mjs';

const USAGE = `node bench/idle.mjs [--minutes 10] [--threads 100]
  threads  loaded, each with one turn; then every client leaves`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    threads: { type: 'string', default: '100' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
/** Clock ticks of /proc in a second; the same on every Linux. */
const TICKS = 100;

function usage(pid) {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const io = fs.readFileSync(`/proc/${pid}/io`, 'utf8');
  return {
    cpuMs: ((Number(stat[11]) + Number(stat[12])) * 1000) / TICKS,
    // Calls as well as bytes: what is written again in place counts too.
    writes: Number(/^syscw: (\d+)/m.exec(io)[1]),
    bytes: Number(/^write_bytes: (\d+)/m.exec(io)[1]),
  };
}

const data = fs.mkdtempSync(path.join(os.tmpdir(), 'heddle-idle-'));
const server = await startHeddle(data);
try {
  const client = await connect(server.url);
  for (let index = 0; index < Number(values.threads); index += 1) {
    const { result } = await client.request('thread/start', { cwd: data });
    const completed = client.turnCompleted(result.thread.id);
    const input = [{ type: 'text', text: 'say hello', text_elements: [] }];
    await client.request('turn/start', { threadId: result.thread.id, input });
    await completed;
  }
  await client.close();
  // What follows a turn, such as the word index, is not idleness.
  await wait(10_000);
  const before = usage(server.pid);
  const ms = Number(values.minutes) * 60_000;
  await wait(ms);
  const after = usage(server.pid);
  const cpu = after.cpuMs - before.cpuMs;
  console.log(
    `${values.threads} loaded threads, no client, ${values.minutes} min: ${cpu} ms of CPU (${((cpu / ms) * 100).toFixed(3)} % of a core), ` +
      `${after.bytes - before.bytes} bytes written to disk, ${after.writes - before.writes} calls that write (each wake of the loop may be one)`,
  );
} finally {
  await server.close();
  fs.rmSync(data, { recursive: true, force: true });
}
