// Measures what forks of the long thread cost, and how long others wait meanwhile.
import { once } from 'node:events';
import os from 'node:os';
import { Worker } from 'node:worker_threads';
import { connect } from './client.mjs';
import { ownKib } from './heddle-server.mjs';

/** Between two requests of one who asks again and again, in ms. */
const PAUSE_MS = 5;
/** How long the others are measured without a fork. */
const ALONE_MS = 3_000;
const REST_MS = 500;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** `show` prints times: `(what, times) => void`. */
export async function measureForks(server, items, forks, show) {
  const forker = new Worker(new URL('./forker.mjs', import.meta.url), { workerData: server.url });
  await once(forker, 'message');
  const [reader, writer] = [await connect(server.url), await connect(server.url)];
  const ids = [];
  for (let index = 0; index < 2; index += 1) ids.push((await writer.request('thread/start', {})).result.thread.id);
  const clients = { reader, writer, named: ids[0], turned: ids[1] };
  const shown = ({ reads, names, starts, turns }, when) => {
    show(`thread/list ${when}`, reads);
    show(`thread/name/set ${when}`, names);
    show(`turn/start ${when}`, starts);
    show(`whole turn of one answer ${when}`, turns);
  };
  shown(await beside(server, clients, () => sleep(ALONE_MS)), 'without a fork');
  for (let count = 0; count < forks; count += 1) {
    const busy = busyMs();
    const all = await beside(server, clients, async () => {
      forker.postMessage('fork');
      const [answer] = await once(forker, 'message');
      return answer;
    });
    const { ms, error } = all.result;
    if (error) throw new Error(error);
    const cores = ((busyMs() - busy) / ms).toFixed(1);
    console.log(
      `thread/fork of ${items} items: ${ms.toFixed(0)} ms, ${all.mib.toFixed(1)} MiB more memory, ${cores} cores busy`,
    );
    shown(all, 'meanwhile');
    await sleep(REST_MS);
  }
  await forker.terminate();
  reader.close();
  writer.close();
}

/** What others wait for while `work` is done, and by how much the server's own memory grew at most. */
async function beside(server, { reader, writer, named, turned }, work) {
  const times = { reads: [], names: [], starts: [], turns: [] };
  const before = ownKib(server.pid);
  let most = before;
  let isOver = false;
  const again = async (ask) => {
    for (let index = 0; !isOver; index += 1) {
      await ask(index);
      most = Math.max(most, ownKib(server.pid));
      await sleep(PAUSE_MS);
    }
  };
  const timed = async (into, client, method, params) => {
    const start = performance.now();
    const { at } = await client.request(method, params);
    into.push(at - start);
  };
  const turn = async () => {
    const start = performance.now();
    const completed = writer.turnCompleted(turned);
    const input = [{ type: 'text', text: 'say x', text_elements: [] }];
    await timed(times.starts, writer, 'turn/start', { threadId: turned, input });
    times.turns.push((await completed) - start);
  };
  const others = [
    again(() => timed(times.reads, reader, 'thread/list', {})),
    again((index) => timed(times.names, writer, 'thread/name/set', { threadId: named, name: `name ${index}` })),
    again(turn),
  ];
  const result = await work().finally(() => {
    isOver = true;
  });
  await Promise.all(others);
  return { ...times, result, mib: (most - before) / 1024 };
}

/** Of all processes; where it is more than the server and this one take, the machine was not quiet. */
function busyMs() {
  return os.cpus().reduce((sum, { times }) => sum + times.user + times.sys + times.nice, 0);
}
