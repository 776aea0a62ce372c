// Programs that do what they can to outlive their end: each ends once, all its bytes are told, and nothing of it is left 5 s later.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { canBeFound, escapes, escaping, startBystanders } from '../harness/escapes.ts';
import { bash, exited, programsWith, streamed } from '../harness/processes.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import { eventually, isRunning } from '../unit/children/waiting.ts';

afterEach(cleanUp);

/** 1,000 by command. */
const ROUNDS = Number(process.env.HEDDLE_ROUNDS ?? 50);

interface Kind {
  /** `$1` is the file for the pids of everything that is started. */
  readonly script: string;
  readonly isKilled?: boolean;
  readonly exitCode: number;
  /** Bytes of standard output; undefined: it depends on when the kill comes. */
  readonly bytes?: number;
  readonly pids: number;
}

/** Too many to ask for each: its programs are looked for by their arguments. */
const MANY = Number.POSITIVE_INFINITY;

/** `$1` stands for the file in a line of its own shell, too. */
const GETTING_AWAY: Readonly<Record<string, Kind>> = {
  'leaves all behind': {
    script: `: >>$1; ${escapes('$1')} until [ "$(wc -l <$1)" = 2 ]; do sleep 0.01; done; printf away; exit 8`,
    exitCode: 8,
    bytes: 4,
    pids: 2,
  },
  'leaves all behind and is killed': {
    script: `: >>$1; ${escapes('$1')} until [ "$(wc -l <$1)" = 2 ]; do sleep 0.01; done; printf away; sleep 60`,
    isKilled: true,
    exitCode: 137,
    bytes: 4,
    pids: 2,
  },
  'goes on as another process': {
    script: `${escaping('hop', '$1')} until [ -s $1 ]; do sleep 0.01; done; printf hops; exit 9`,
    exitCode: 9,
    bytes: 4,
    pids: MANY,
  },
};

const KINDS: Readonly<Record<string, Kind>> = {
  'ignores signals': {
    script: 'trap "" TERM HUP INT; echo $$ >>$1; printf ready; while :; do sleep 1; done',
    isKilled: true,
    exitCode: 137,
    bytes: 5,
    pids: 1,
  },
  'forks twice': {
    script:
      '( ( trap "" HUP; echo $BASHPID >>$1; exec setsid sleep 60 >/dev/null 2>&1 ) & ) ; echo $$ >>$1; printf gone; exit 4',
    exitCode: 4,
    bytes: 4,
    pids: 2,
  },
  'leaves its environment behind': {
    script: '(echo $BASHPID >>$1; exec env -i /bin/sleep 60 >/dev/null 2>&1) & echo $$ >>$1; printf gone',
    exitCode: 0,
    bytes: 4,
    pids: 2,
  },
  ...(canBeFound ? GETTING_AWAY : {}),
  'holds the pipes': {
    script: '(trap "" TERM; echo $BASHPID >>$1; sleep 60) & echo $$ >>$1; printf held; exit 5',
    exitCode: 5,
    bytes: 4,
    pids: 2,
  },
  floods: { script: 'echo $$ >>$1; head -c 3000000 /dev/zero; exit 6', exitCode: 6, bytes: 3_000_000, pids: 1 },
  'floods until it is killed': {
    script: 'echo $$ >>$1; printf ready; exec yes',
    isKilled: true,
    exitCode: 137,
    pids: 1,
  },
  'exits at once': { script: 'echo $$ >>$1; exit 7', exitCode: 7, bytes: 0, pids: 1 },
};

test(
  `of ${ROUNDS} programs nothing is left`,
  async () => {
    const server = await startApp();
    const client = await server.connect({ experimentalApi: true });
    const bystanders = await startBystanders(await temporaryFolder());
    let slowest = 0;
    const kinds = Object.entries(KINDS);
    const one = async (round: number) => {
      const [what, kind] = kinds[round % kinds.length] as (typeof kinds)[number];
      const name = `${round}: ${what}`;
      const pids = join(server.workspace, String(round).padStart(6, '0'));
      const tty = round % 3 === 2 && kind.bytes !== 3_000_000;
      await client.request('process/spawn', {
        cwd: server.workspace,
        command: bash(kind.script, pids),
        processHandle: name,
        streamStdoutStderr: true,
        outputBytesCap: null,
        timeoutMs: null,
        tty,
      });
      if (kind.isKilled) {
        await client.notified('process/outputDelta', (each) => each.processHandle === name);
        await client.request('process/kill', { processHandle: name });
      }
      const { exitCode } = await exited(client, name);
      expect({ name, exitCode }).toEqual({ name, exitCode: kind.exitCode });
      if (kind.bytes !== undefined)
        expect({ name, bytes: streamed(client, name).length }).toEqual({ name, bytes: kind.bytes });
      const started = () =>
        existsSync(pids) ? readFileSync(pids, 'utf8').split('\n').filter(Boolean).map(Number) : [];
      expect(started().length).toBeLessThanOrEqual(kind.pids);
      const ended = performance.now();
      const last = { count: 0, isQuietFor: 0 };
      /** One look alone may fall between two of its processes. */
      const goesOn = () => {
        const count = started().length;
        const isQuiet = count === last.count && programsWith(pids) === 0;
        Object.assign(last, { count, isQuietFor: isQuiet ? last.isQuietFor + 1 : 0 });
        return last.isQuietFor < 5;
      };
      const isLeft = () => (kind.pids === MANY ? goesOn() : started().some(isRunning));
      await eventually(`the end of everything of ${name}`, () => !isLeft());
      slowest = Math.max(slowest, performance.now() - ended);
      rmSync(pids, { force: true });
    };
    const workers = Array.from({ length: 8 }, async (_, worker) => {
      for (let round = worker; round < ROUNDS; round += 8) await one(round);
    });
    await Promise.all(workers);
    const exits = client.news('process/exited').map((each) => each.processHandle);
    expect(exits.length).toBe(ROUNDS);
    expect(new Set(exits).size).toBe(ROUNDS);
    await client.settled();
    expect(bystanders.pids.map(isRunning)).toEqual([true, true]);
    await bystanders.end();
    expect(programsWith(server.workspace)).toBe(0);
    if (ROUNDS > 50) {
      console.info(`the slowest end took ${slowest.toFixed()} ms`);
      expect(slowest).toBeLessThan(5_000);
    }
    for (const name of exits) {
      const told = client.transcript.filter((each) => each.params?.processHandle === name);
      expect(told.at(-1)?.method).toBe('process/exited');
    }
  },
  120_000 + ROUNDS * 5_000,
);
