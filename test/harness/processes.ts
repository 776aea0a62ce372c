// What tests of commands and processes need: their params, and the bytes that were told of them.

import { readdirSync, readFileSync } from 'node:fs';
import type { Received, TestClient } from './test-client.ts';

/** Outside the sandbox. */
export const BARE = { sandboxPolicy: { type: 'dangerFullAccess' } };

export const bash = (script: string, ...args: string[]): string[] => ['bash', '-c', script, 'bash', ...args];

export const encoded = (text: string): string => Buffer.from(text).toString('base64');

/** What was streamed of one program so far. */
export function streamed(client: TestClient, name: string, stream = 'stdout'): Buffer {
  const deltas = [...client.news('command/exec/outputDelta'), ...client.news('process/outputDelta')];
  const ofStream = deltas.filter(
    (each) => (each.processId ?? each.processHandle) === name && (stream === 'both' || each.stream === stream),
  );
  return Buffer.concat(ofStream.map((each) => Buffer.from(each.deltaBase64, 'base64')));
}

/** Settles when this text has been streamed. */
export async function printed(client: TestClient, name: string, text: string): Promise<void> {
  await client.message(() => streamed(client, name, 'both').includes(text), `the output ${text}`);
}

export const exited = (client: TestClient, processHandle: string): Promise<Received> =>
  client.notified('process/exited', (each) => each.processHandle === processHandle);

/** How many programs run that have this text among their arguments. */
export function programsWith(mark: string): number {
  const marked = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && procOf(name, 'cmdline').includes(mark));
  // Whatever a program starts bears its arguments too, from the fork to the exec.
  return marked.filter((pid) => !marked.includes(parentOf(pid))).length;
}

const parentOf = (pid: string): string => /^PPid:\s+(\d+)$/m.exec(procOf(pid, 'status'))?.[1] ?? '';

function procOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return ''; // it has ended
  }
}
