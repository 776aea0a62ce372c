// Standard streams of real processes, from both ends.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { childConnection } from '../../../src/transports/child.ts';
import type { Connection } from '../../../src/transports/connection.ts';

type Program = ChildProcessByStdio<Writable, Readable, null>;
const programs: Program[] = [];
afterEach(() => {
  for (const program of programs.splice(0)) program.kill('SIGKILL');
});

function run(...args: string[]): { readonly program: Program; readonly exit: Promise<number | null> } {
  const program = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  programs.push(program);
  return { program, exit: new Promise((resolve) => program.once('exit', (code) => resolve(code))) };
}

const echo = () => run('--import', 'tsx', fileURLToPath(new URL('programs/echo.ts', import.meta.url)));

async function all(connection: Connection): Promise<readonly unknown[]> {
  const frames: unknown[] = [];
  for await (const frame of connection.frames) frames.push(frame);
  return frames;
}

describe('standard streams', () => {
  it('carry long lines both ways and end with the input; a whole last line counts', async () => {
    const { program, exit } = echo();
    const long = `"${'猫'.repeat(1_700_000)}"`;
    const answers = all(childConnection(program));
    program.stdin.end(`{"id":1}\r\n\n${long}\n{"id":2}`);
    expect(await answers).toEqual(['{"id":1}', long, '{"id":2}']);
    expect(await exit).toBe(0);
  });

  it('let the program end when its client closes', async () => {
    const { program, exit } = echo();
    const connection = childConnection(program);
    connection.send(['{"id":1}']);
    const [first] = [await connection.frames[Symbol.asyncIterator]().next()];
    expect(first.value).toBe('{"id":1}');
    await connection.close();
    expect(await exit).toBe(0);
  });

  it('of a program that is gone are read to the end, whatever was sent to it', async () => {
    const { program } = run('-e', 'process.stdin.destroy(); process.stdout.write("{}\\n".repeat(50000))');
    const connection = childConnection(program);
    const answers = all(connection);
    connection.send(Array.from({ length: 100 }, () => `"${'x'.repeat(10_000)}"`));
    expect(await answers).toHaveLength(50_000);
    expect(['ended', 'broken']).toContain((await connection.closed).kind);
    expect(connection.pending).toBe(0);
  });
});
