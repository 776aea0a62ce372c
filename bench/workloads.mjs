// What is measured: each workload runs once on one target and gives its figures by name.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from './client.mjs';
import { cpuMs, quantile, residentKib } from './meter.mjs';

/** Runs `work` with a client on the target's long-lived server, and closes it. */
export async function withClient(target, work) {
  const server = await target.server();
  const client = await connect(server.url);
  try {
    return await work(client, server);
  } finally {
    client.close();
  }
}

/** Processor time that the server takes for `work`, what it does just after included. */
async function cpuOf(server, work) {
  const before = cpuMs(server.pid);
  await work();
  await pause(100);
  return cpuMs(server.pid) - before;
}

export async function repeat(count, work) {
  const times = [];
  for (let index = 0; index < count; index += 1) {
    const start = performance.now();
    times.push((await work()) - start);
  }
  return times;
}

export function oneDeltaTurn(target) {
  const turns = 60;
  return withClient(target, async (client, server) => {
    const threadId = await client.startThread(target.workspace);
    await repeat(5, () => client.turn(threadId, 1));
    let times;
    const cpu = await cpuOf(server, async () => {
      times = await repeat(turns, () => client.turn(threadId, 1));
    });
    return { latency: quantile(times, 0.5), p99: quantile(times, 0.99), cpu: cpu / turns };
  });
}

const threadStart = async (client, cwd) => {
  const { at } = await client.request('thread/start', { cwd, approvalPolicy: 'never', sandbox: 'danger-full-access' });
  return at;
};

export async function threadStarts(target) {
  const measure = async (client) => {
    await repeat(5, () => threadStart(client, target.workspace));
    return quantile(await repeat(30, () => threadStart(client, target.workspace)), 0.5);
  };
  const ws = await withClient(target, measure);
  const { client, close } = target.startStdio(target.newData());
  try {
    await client.initialize();
    return { ws, stdio: await measure(client) };
  } finally {
    await close();
  }
}

/** Deltas per second from asking for them (`start`) to the last one: holding them back to send them together gains nothing. */
function rate(clients, start) {
  const last = Math.max(...clients.map((client) => client.lastDelta));
  const delivered = clients.reduce((sum, client) => sum + client.deltas, 0);
  return (delivered / (last - start)) * 1_000;
}

export function burst(target) {
  const deltas = 5_000;
  const turns = 4;
  return withClient(target, async (client, server) => {
    const threadId = await client.startThread(target.workspace);
    await client.turn(threadId, deltas);
    const rates = [];
    let came = 0;
    const cpu = await cpuOf(server, async () => {
      for (let index = 0; index < turns; index += 1) {
        client.resetDeltas();
        const start = performance.now();
        await client.turn(threadId, deltas);
        rates.push(rate([client], start));
        came += client.deltas;
      }
    });
    return { rate: quantile(rates, 0.5), cpu: cpu / ((turns * deltas) / 1_000), own: came / (turns * deltas) };
  });
}

export async function fanOut(target) {
  const deltas = 5_000;
  const bursts = 4; // the first one warms up
  const server = await target.server();
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect(server.url)));
  try {
    const [first, ...others] = clients;
    const threadId = await first.startThread(target.workspace);
    await first.turn(threadId, 1);
    for (const client of others) await client.request('thread/resume', { threadId });
    const rates = [];
    let came = 0;
    for (let index = 0; index < bursts; index += 1) {
      for (const client of clients) client.resetDeltas();
      const start = performance.now();
      const all = others.map((client) => client.turnCompleted(threadId));
      await Promise.all([first.turn(threadId, deltas), ...all]);
      if (index > 0) rates.push(rate(clients, start));
      came += clients.reduce((sum, client) => sum + client.deltas, 0);
    }
    return { rate: quantile(rates, 0.5), own: came / (bursts * clients.length * deltas) };
  } finally {
    for (const client of clients) client.close();
  }
}

const STREAMS = 50;

async function openThreads(client, cwd) {
  const threads = [];
  for (let index = 0; index < STREAMS; index += 1) threads.push(await client.startThread(cwd));
  return threads;
}

export function streamsAtOnce(target) {
  const deltas = 400;
  return withClient(target, async (client) => {
    const threads = await openThreads(client, target.workspace);
    client.resetDeltas();
    const start = performance.now();
    await Promise.all(threads.map((threadId) => client.turn(threadId, deltas)));
    return { rate: rate([client], start), own: client.deltas / (STREAMS * deltas) };
  });
}

export function streamsPaced(target) {
  const deltas = 100;
  return withClient(target, async (client, server) => {
    const threads = await openThreads(client, target.workspace);
    client.resetDeltas();
    const cpu = await cpuOf(server, () => Promise.all(threads.map((threadId) => client.turn(threadId, deltas, 20))));
    return { cpu: cpu / ((STREAMS * deltas) / 1_000), own: client.deltas / (STREAMS * deltas) };
  });
}

async function startOnce(target, data) {
  const start = performance.now();
  const { client, close } = target.startStdio(data);
  try {
    const { at } = await client.initialize();
    return at - start;
  } finally {
    await close();
  }
}

export async function starts(target) {
  const existing = [];
  const fresh = [];
  const used = target.newData();
  await startOnce(target, used);
  for (let index = 0; index < 5; index += 1) {
    existing.push(await startOnce(target, used));
    fresh.push(await startOnce(target, target.newData()));
  }
  return { existing: quantile(existing, 0.5), fresh: quantile(fresh, 0.5) };
}

export async function idleConnections(target) {
  const count = 300;
  const server = await target.startWebSocket();
  const clients = [];
  const open = async (more) => {
    for (let index = 0; index < more; index += 1) clients.push(await connect(server.url));
    await pause(1_000);
    return residentKib(server.pid);
  };
  try {
    const before = await open(50);
    return { memory: ((await open(count)) - before) / count };
  } finally {
    for (const client of clients) client.close();
    await server.close();
  }
}

/** Requests per second with 64 always under way. */
export function inFlight(method, params, total = 6_000) {
  return (target) =>
    withClient(target, async (client) => {
      const given = params(target);
      for (let index = 0; index < Math.min(50, total); index += 1) await client.request(method, given);
      let left = total;
      const worker = async () => {
        for (; left > 0; left -= 1) await client.request(method, given);
      };
      const start = performance.now();
      await Promise.all(Array.from({ length: 64 }, worker));
      return { rate: (total / (performance.now() - start)) * 1_000 };
    });
}

export function file(target, name, size) {
  const full = path.join(target.workspace, name);
  if (!fs.existsSync(full)) fs.writeFileSync(full, Buffer.alloc(size, 'heddle'));
  return full;
}

/** Until the answer is parsed: with this size the client's share is a good part of what a client waits for. */
export function readFile(target) {
  const [small, large] = [file(target, 'page.bin', 4_096), file(target, 'large.bin', 1 << 20)];
  const latency = async (client, path, count) => {
    const times = await repeat(count, async () => {
      await client.request('fs/readFile', { path });
      return performance.now();
    });
    return quantile(times.slice(5), 0.5);
  };
  return withClient(target, async (client) => ({
    small: await latency(client, small, 500),
    latency: await latency(client, large, 30),
  }));
}
