// A server on a disk of its own that fills up, and on one that takes no writes any more: refusals say what to do, reads go on, nothing is lost.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { makeOwnDisk, type OwnDisk, whyNoDisk } from '../harness/own-disk.ts';
import { TestClient } from '../harness/test-client.ts';
import { itemsOf, runTurn, startThread, text } from '../harness/turns.ts';
import { lineSocketWire } from '../harness/wires.ts';
import { EXECUTABLE, Program, type Run, scratch } from './executable.ts';

const LIMIT_MS = 120_000;
const FULL = /the disk is full.*: make room/;
const FILL = 'head -c 1G /dev/zero > "$DISK/ballast"; sync';
const EMPTY = 'rm "$DISK/ballast"; sync';
/** The system sees that the file system is damaged, and takes no more writes. */
const FAIL = 'dev=$(findmnt -no SOURCE "$DISK"); echo 1 > "/sys/fs/ext4/$(basename "$dev")/trigger_fs_error"';

const problem = whyNoDisk();
if (problem !== undefined) console.warn(`SKIPPED: small disks need root, loop devices and ext4 here: ${problem}`);

const disks: OwnDisk[] = [];
const programs: Program[] = [];
afterEach(async () => {
  for (const { child, ended } of programs.splice(0)) {
    // A polite stop ends what the server itself has started; what is left of it would hold the disk.
    child.kill('SIGTERM');
    await ended;
  }
  for (const disk of disks.splice(0)) disk.remove();
});

function aDisk(): OwnDisk {
  const disk = makeOwnDisk(24);
  disks.push(disk);
  return disk;
}

/** `first`: a line of shell before it. */
function launch(disk: OwnDisk, args: readonly string[], { isReadOnly = false, first = '' } = {}): Program {
  const line = `${first}\nexec "$@"`;
  const program = ['env', `DISK=${disk.place}`, 'bash', '-c', line, 'first', process.execPath, EXECUTABLE, ...args];
  const [command, wrapped] = disk.command(program, { isReadOnly });
  const launched = new Program(wrapped, { command });
  programs.push(launched);
  return launched;
}

const dataOf = (disk: OwnDisk) => join(disk.place, 'data');
const history = (disk: OwnDisk, args: readonly string[], isReadOnly = false): Promise<Run> =>
  launch(disk, ['history', ...args, '--data-dir', dataOf(disk)], { isReadOnly }).ended;

const serverArgs = (disk: OwnDisk, socket: string) => [
  ...['app-server', '--backend', 'mock', '--data-dir', dataOf(disk), '--listen', `unix://${socket}`],
];

async function serveOn(disk: OwnDisk) {
  const socket = join(scratch(), 's');
  const program = launch(disk, serverArgs(disk, socket));
  await program.said('stderr', /listening on: (\S+)\n/);
  const client = new TestClient(await lineSocketWire(socket));
  await client.initialize();
  return { client, program, beside: (line: string) => disk.beside(program.child.pid as number, line) };
}

async function end(program: Program, signal: 'SIGKILL' | 'SIGTERM'): Promise<Run> {
  program.child.kill(signal);
  return program.ended;
}

const long = (word: string) => `say ${word} ${'x'.repeat(300_000)}`;
const wordsOf = async (client: TestClient, threadId: string): Promise<string[]> =>
  (await itemsOf(client, threadId)).filter(({ type }) => type === 'agentMessage').map((item) => item.text.slice(0, 6));

describe.skipIf(problem !== undefined)('on a disk of its own', { timeout: LIMIT_MS }, () => {
  test('that fills up: what does not fit is refused, and it goes on by itself when there is room', async () => {
    const disk = aDisk();
    const { client, program, beside } = await serveOn(disk);
    const [one, two] = [await startThread(client), await startThread(client)];
    for (const threadId of [one, two]) await runTurn(client, threadId, 'say before');
    beside(FILL);
    const refused = async (threadId: string, words: string) =>
      client.refusal('turn/start', { threadId, input: text(words) });
    const tooLong = await refused(one, long('first'));
    expect(tooLong).toMatchObject({
      code: -32603,
      data: { kind: 'unavailable' },
      message: expect.stringMatching(FULL),
    });
    expect(await refused(two, `say ${'y'.repeat(40_000)}`)).toMatchObject({
      ...{ code: -32603, data: { kind: 'unavailable' } },
      message: expect.stringMatching(/^.*the disk is full .*: make room, it goes on by itself$/),
    });
    for (const threadId of [one, two]) {
      expect((await client.request('thread/read', { threadId, includeTurns: true })).thread.turns).toHaveLength(1);
      expect(await wordsOf(client, threadId)).toEqual(['before']);
    }
    expect((await client.request('thread/list', {})).data).toHaveLength(2);
    beside(EMPTY);
    for (const threadId of [one, two]) {
      await client.request('thread/resume', { threadId });
      expect((await runTurn(client, threadId, long('behind'))).status).toBe('completed');
    }
    await end(program, 'SIGKILL');
    expect(await history(disk, ['verify'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('all as written'),
    });
    const later = await serveOn(disk);
    for (const threadId of [one, two]) expect(await wordsOf(later.client, threadId)).toEqual(['before', 'behind']);
  });

  test('that takes no writes any more: reads go on, the stop is orderly, and the next server has everything', async () => {
    const disk = aDisk();
    const { client, program, beside } = await serveOn(disk);
    const threadId = await startThread(client, { title: 'mine' });
    await runTurn(client, threadId, 'say before');
    beside(FAIL);
    const refused = await client.refusal('turn/start', { threadId, input: text('say lost') });
    expect(refused).toMatchObject({ code: -32603, data: { kind: 'unavailable' } });
    expect(refused.message).toMatch(/takes no writes: make it writable, it goes on by itself; .* has to be stopped$/);
    expect(await wordsOf(client, threadId)).toEqual(['before']);
    expect((await client.request('thread/list', { searchTerm: 'mine' })).data).toHaveLength(1);
    const { code, stderr } = await end(program, 'SIGTERM');
    expect(code, stderr).toBe(0);
    expect(await history(disk, ['verify'])).toMatchObject({ code: 0 });
    const later = await serveOn(disk);
    await later.client.request('thread/resume', { threadId });
    await runTurn(later.client, threadId, 'say again');
    expect(await wordsOf(later.client, threadId)).toEqual(['before', 'again']);
  });

  test('that is mounted for reading only, or full from the beginning: no server, a reason, and commands that read work', async () => {
    const disk = aDisk();
    const first = await serveOn(disk);
    const threadId = await startThread(first.client);
    await runTurn(first.client, threadId, 'say before');
    await end(first.program, 'SIGTERM');
    const socket = join(scratch(), 's');
    const readOnly = await launch(disk, serverArgs(disk, socket), { isReadOnly: true }).ended;
    expect(readOnly).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/a server writes there: .* make it writable$/m),
    });
    for (const args of [['verify'], ['stats']]) expect(await history(disk, args, true)).toMatchObject({ code: 0 });
    const out = join(scratch(), 'thread.jsonl');
    expect(await history(disk, ['export', threadId, '-o', out], true)).toMatchObject({ code: 0 });
    expect(existsSync(out)).toBe(true);
    const full = await launch(disk, serverArgs(disk, socket), { first: FILL }).ended;
    expect(full).toMatchObject({ code: 1, stderr: expect.stringMatching(/a server writes there: .* make room$/m) });
    const again = await serveOn(disk).catch(() => undefined);
    expect(again, 'it is full still').toBeUndefined();
    expect(await launch(disk, ['history', 'verify', '--data-dir', dataOf(disk)], { first: EMPTY }).ended).toMatchObject(
      {
        code: 0,
      },
    );
    const later = await serveOn(disk);
    expect(await wordsOf(later.client, threadId)).toEqual(['before']);
  });
});
