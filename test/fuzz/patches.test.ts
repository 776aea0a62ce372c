// Random patches on real files against a model of them: all of a patch or nothing, shown as it is done, and taken back to the letter.

import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FileChange, PatchProblem } from '../../src/agent/patch/change.ts';
import { objectId } from '../../src/agent/patch/diff-text.ts';
import { type FilePlan, planChanges } from '../../src/agent/patch/plan.ts';
import type { Reach } from '../../src/agent/patch/reach.ts';
import { restoredFiles } from '../../src/agent/patch/restored.ts';
import { TurnDiff } from '../../src/agent/patch/turn-diff.ts';
import { isAppError } from '../../src/base/errors.ts';
import { NO_LEFTOVERS } from '../../src/base/leftovers.ts';
import { isInside } from '../../src/fs/containment.ts';
import { changeFiles } from '../../src/fs/file-set.ts';
import { Queues } from '../../src/rpc/queues.ts';
import { fc } from '../harness/chance.ts';

const RUNS = Number(process.env.PATCH_RUNS ?? 60);
const open = new AbortController().signal;
const everywhere: Reach = { standing: () => 'workspace' };

type Files = Map<string, string>;

const path = fc.constantFrom('a', 'b', 'c', 'd/e', 'd/f', 'g/h/i');
const line = fc.constantFrom('1', '2', '3', '');
const content = fc.array(line, { maxLength: 4 }).map((lines) => lines.map((each) => `${each}\n`).join(''));
const change: fc.Arbitrary<FileChange> = fc.oneof(
  fc.record({ type: fc.constant('add' as const), path, content }),
  fc.record({ type: fc.constant('delete' as const), path }),
  fc.record({
    type: fc.constant('update' as const),
    path,
    moveTo: fc.option(path, { nil: null }),
    chunks: fc.array(
      fc.record({ old: line, now: line }).map(({ old, now }) => ({
        ...{ anchors: [], isAtEnd: false },
        lines: [
          { kind: 'remove' as const, text: old },
          { kind: 'add' as const, text: now },
        ],
      })),
      { maxLength: 2 },
    ),
  }),
);

/** What a patch makes of the files; undefined: it does not fit. */
function expected(files: Files, changes: readonly FileChange[]): Files | undefined {
  const now = new Map(files);
  for (const each of changes) {
    const text = now.get(each.path);
    if (each.type === 'add') {
      if (text !== undefined) return undefined;
      now.set(each.path, each.content);
      continue;
    }
    if (text === undefined) return undefined;
    now.delete(each.path);
    if (each.type === 'delete') continue;
    const lines = text.split('\n').slice(0, -1);
    let from = 0;
    for (const { lines: edit } of each.chunks) {
      const at = lines.indexOf(edit[0]!.text, from);
      if (at < 0) return undefined;
      lines[at] = edit[1]!.text;
      from = at + 1;
    }
    const target = each.moveTo ?? each.path;
    if (now.has(target)) return undefined;
    now.set(target, lines.map((one) => `${one}\n`).join(''));
  }
  const isSame = now.size === files.size && [...now].every(([name, text]) => files.get(name) === text);
  return isSame ? undefined : now;
}

async function filesIn(folder: string): Promise<Files> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  const files: Files = new Map();
  for (const name of names.toSorted()) files.set(name.slice(folder.length + 1), await readFile(name, 'utf8'));
  return files;
}

const sorted = (files: Files) => [...files].toSorted(([one], [other]) => (one < other ? -1 : 1));

async function apply(folder: string, changes: readonly FileChange[]): Promise<FilePlan | undefined> {
  try {
    const plan = await planChanges(changes, folder, everywhere);
    await changeFiles(plan.effects, { queues: new Queues(), leftovers: NO_LEFTOVERS }, open);
    return plan;
  } catch (error) {
    if (error instanceof PatchProblem) return undefined;
    throw error;
  }
}

test('random patches do what they say, or nothing', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { maxLength: 5 }), async (patches) => {
      const folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-test-')));
      try {
        let files: Files = new Map([
          ['a', '1\n2\n3\n'],
          ['d/e', '1\n'],
        ]);
        await mkdir(join(folder, 'd'));
        for (const [name, text] of files) await writeFile(join(folder, name), text);
        const before = new Map(files);
        const diff = new TurnDiff();
        for (const changes of patches) {
          const next = expected(files, changes);
          const plan = await apply(folder, changes);
          files = next ?? files;
          expect(plan !== undefined).toBe(next !== undefined);
          expect(sorted(await filesIn(folder))).toEqual(sorted(files));
          if (!plan) continue;
          diff.add(plan.differences);
        }
        const isSame = JSON.stringify(sorted(before)) === JSON.stringify(sorted(files));
        if (isSame) expect(diff.text(folder)).toBe('');
        else expect(diff.text(folder)).not.toBe('');
        const again = new TurnDiff();
        const read = async (name: string) => {
          const text = files.get(name.slice(folder.length + 1));
          return text === undefined ? null : { id: objectId(text), text, mode: 0o644 };
        };
        again.restore(await restoredFiles(diff.text(folder), folder, read));
        expect(again.text(folder)).toBe(diff.text(folder));
      } finally {
        await rm(folder, { recursive: true });
      }
    }),
    { numRuns: RUNS },
  );
});

test('who exchanges a folder for a link all the time gains nothing', async () => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'heddle-test-')));
  const at = (name: string) => join(base, name);
  try {
    for (const name of ['work/sub', 'outside']) await mkdir(at(name), { recursive: true });
    await writeFile(at('work/sub/kept'), '');
    await symlink('../outside', at('work/link'));
    const reach: Reach = { standing: (real) => (isInside(real, at('work')) ? 'workspace' : 'outside') };
    let isOver = false;
    // In between there is no such folder, and a patch may have made one.
    const put = async (from: string) => {
      for (;;) {
        const isThere = await rename(at(from), at('work/sub')).then(
          () => true,
          () => false,
        );
        if (isThere) return;
        await rm(at('work/sub'), { recursive: true, force: true });
      }
    };
    const swapping = (async () => {
      while (!isOver) {
        await rename(at('work/sub'), at('work/aside'));
        await put('work/link');
        await new Promise(setImmediate);
        await rename(at('work/sub'), at('work/link'));
        await put('work/aside');
        await new Promise(setImmediate);
      }
    })();
    let [written, refused] = [0, 0];
    for (let round = 0; round < 150 || written + refused === 0; round++) {
      const changes: FileChange[] = [{ type: 'add', path: `sub/f${round}`, content: 'x\n' }];
      const plan = await planChanges(changes, at('work'), reach).catch(() => undefined);
      // What lies outside is asked about, and here nobody says yes.
      if (!plan?.isInWorkspace) continue;
      await changeFiles(plan.effects, { queues: new Queues(), leftovers: NO_LEFTOVERS }, open).then(
        () => written++,
        (error) => {
          expect(isAppError(error)).toBe(true);
          refused++;
        },
      );
    }
    isOver = true;
    await swapping;
    expect(await readdir(at('outside'))).toEqual([]);
    expect(written + refused).toBeGreaterThan(0);
  } finally {
    await rm(base, { recursive: true });
  }
});
