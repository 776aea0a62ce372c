// Programs get no descriptor that a library has opened, also when it did so just after another program was started.

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { createChildren } from '../../../src/children/spawn.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';

const isLinux = process.platform === 'linux';
if (!isLinux) console.warn('SKIPPED: what a program has open is looked up in /proc');

const SCRIPT = 'for each in /proc/$$/fd/*; do readlink $each; done';

it.skipIf(!isLinux).each(['started by us', 'with a terminal'])('a program %s has none of a history', async (how) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-descriptors-')));
  const children = createChildren();
  const opened: LmdbRows[] = [];
  const links = async (): Promise<string> => {
    const program = { argv: ['bash', '-c', SCRIPT], cwd: folder, env: { PATH: '/usr/bin:/bin' } } as const;
    const { signal } = new AbortController();
    if (how === 'with a terminal') {
      const child = await children.startOnTerminal({ ...program, size: { rows: 24, cols: 80 } }, signal);
      return text(child.terminal.output);
    }
    // What has a channel of its own is never started by the helper.
    const child = await children.start({ ...program, stdin: 'none', output: 'merged', sideChannel: true }, signal);
    return text(child.stdout);
  };
  try {
    for (const name of ['one', 'two', 'three']) {
      mkdirSync(join(folder, name));
      opened.push(new LmdbRows(join(folder, name)));
      const found = await links();
      expect(found).toContain('/dev/null');
      expect(found).not.toContain(folder);
    }
  } finally {
    await children.close();
    for (const rows of opened) await rows.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
