// The rows of the table: each measures one thing on one target, once; `run` gives its figures by name.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, ErrorAnswer } from './client.mjs';
import { cpuMs, quantile, residentKib } from './meter.mjs';

const UNKNOWN_METHOD = -32601;

/** Runs `work` with a client on the target's long-lived server, and closes it. */
async function withClient(target, work) {
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

async function repeat(count, work) {
  const times = [];
  for (let index = 0; index < count; index += 1) {
    const start = performance.now();
    times.push((await work()) - start);
  }
  return times;
}

function oneDeltaTurn(target) {
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

async function threadStarts(target) {
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

/** From the first delta to the last: the turn's own cost is a row of its own. */
function rate(clients) {
  const first = Math.min(...clients.map((client) => client.firstDelta));
  const last = Math.max(...clients.map((client) => client.lastDelta));
  const delivered = clients.reduce((sum, client) => sum + client.deltas, 0);
  return (delivered / (last - first)) * 1_000;
}

function burst(target) {
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
        await client.turn(threadId, deltas);
        rates.push(rate([client]));
        came += client.deltas;
      }
    });
    return { rate: quantile(rates, 0.5), cpu: cpu / ((turns * deltas) / 1_000), own: came / (turns * deltas) };
  });
}

async function fanOut(target) {
  const deltas = 5_000;
  const server = await target.server();
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect(server.url)));
  try {
    const [first, ...others] = clients;
    const threadId = await first.startThread(target.workspace);
    await first.turn(threadId, 1);
    for (const client of others) await client.request('thread/resume', { threadId });
    const rates = [];
    let came = 0;
    for (let index = 0; index < 3; index += 1) {
      for (const client of clients) client.resetDeltas();
      const all = others.map((client) => client.turnCompleted(threadId));
      await Promise.all([first.turn(threadId, deltas), ...all]);
      if (index > 0) rates.push(rate(clients));
      came += clients.reduce((sum, client) => sum + client.deltas, 0);
    }
    return { rate: Math.max(...rates), own: came / (3 * 8 * deltas) };
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

function streamsAtOnce(target) {
  const deltas = 400;
  return withClient(target, async (client) => {
    const threads = await openThreads(client, target.workspace);
    client.resetDeltas();
    await Promise.all(threads.map((threadId) => client.turn(threadId, deltas)));
    return { rate: rate([client]), own: client.deltas / (STREAMS * deltas) };
  });
}

function streamsPaced(target) {
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

async function starts(target) {
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

async function idleConnections(target) {
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
function inFlight(method, params) {
  const total = 6_000;
  return (target) =>
    withClient(target, async (client) => {
      const given = params(target);
      for (let index = 0; index < 50; index += 1) await client.request(method, given);
      let left = total;
      const worker = async () => {
        for (; left > 0; left -= 1) await client.request(method, given);
      };
      const start = performance.now();
      await Promise.all(Array.from({ length: 64 }, worker));
      return { rate: (total / (performance.now() - start)) * 1_000 };
    });
}

function file(target, name, size) {
  const full = path.join(target.workspace, name);
  if (!fs.existsSync(full)) fs.writeFileSync(full, Buffer.alloc(size, 'heddle'));
  return full;
}

/** Until the answer is parsed: with this size the client's share is a good part of what a client waits for. */
function readFile(target) {
  const full = file(target, 'large.bin', 1 << 20);
  return withClient(target, async (client) => {
    const times = await repeat(30, async () => {
      await client.request('fs/readFile', { path: full });
      return performance.now();
    });
    return { latency: quantile(times.slice(5), 0.5) };
  });
}

/**
 * `figures`: by the name that `run` gives: label, unit, the target (text) and the ratio to the reference that is aimed at.
 * `less` says that less is better. `own` is not a figure: the share of the deltas that came as notifications of their own.
 */
export const ROWS = [
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
    id: 'in-flight',
    run: inFlight('thread/loaded/list', () => ({})),
    figures: {
      rate: { label: '64 in flight, ws, thread/loaded/list', unit: '/s', target: '>= 35,000', ratio: '>= 3' },
    },
  },
  {
    id: 'metadata',
    run: inFlight('fs/getMetadata', (target) => ({ path: file(target, 'small.txt', 10) })),
    figures: { rate: { label: '64 in flight, ws, fs/getMetadata', unit: '/s', target: '>= 18,000', ratio: '>= 2' } },
  },
  {
    id: 'read-file',
    run: readFile,
    figures: { latency: { label: 'fs/readFile of 1 MiB', unit: 'ms', target: '<= 6', ratio: '<= 1.1' } },
  },
];

/** What a row that could not be measured is called in the table. */
export function outcomeOf(error) {
  return error instanceof ErrorAnswer && error.code === UNKNOWN_METHOD ? 'not offered' : 'failed';
}
