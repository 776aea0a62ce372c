// One heddle server of its own on a loopback WebSocket, with the mock backend, for the measurements that have no other target.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ENTRY = path.join(process.env.OURS ?? path.join(HERE, '..'), 'bin', 'heddle.js');
const FLAGS = ['--backend', 'mock', '--listen', 'ws://127.0.0.1:0', '--ws-auth', 'none'];

/** `ready` is how many ms passed from the spawn until it listened; `close` settles when it has ended. */
export async function startHeddle(data) {
  const start = performance.now();
  const child = spawn(process.execPath, [ENTRY, 'app-server', ...FLAGS, '--data-dir', data], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  let said = '';
  const url = await new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      said += chunk;
      const found = /listening on: (ws:\S+)/.exec(said);
      if (found) resolve(found[1]);
    });
    void ended.then(() => reject(new Error(`the server ended: ${said}`)));
  });
  const ready = performance.now() - start;
  return {
    url,
    ready,
    pid: child.pid,
    close() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/**
 * KiB of memory that is the process's own: the mapped file is not. A counter of the kernel: `smaps_rollup` says the same, but
 * walks all that is mapped, for 10 ms and more, during which neither who reads it nor the server gets on.
 */
export function ownKib(pid) {
  const text = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(text)?.[1]);
}
