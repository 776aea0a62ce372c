// Images that a model asks for: read one after the other, and not without end.

import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { imageViewer } from '../../../src/agent/image-view.ts';
import { NO_PERMISSIONS } from '../../../src/approvals/grants.ts';
import type { TurnPort } from '../../../src/approvals/thread-port.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { shownInput } from '../../../src/threads/shown-input.ts';
import { turnOf } from './backends/turn.ts';
import { largeImage } from './large-image.ts';

const NEVER = new AbortController().signal;

async function image() {
  const cwd = await mkdtemp(join(await realpath(tmpdir()), 'heddle-test-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const path = join(cwd, 'large.png');
  await writeFile(path, largeImage());
  return { cwd, path };
}

test('the calls of one turn show no more than it may hold, and the others are told why', async () => {
  const { cwd } = await image();
  const shown: string[] = [];
  const port = {
    turnId: 't',
    settings: () => ({ ...turnOf([]).settings, cwd }),
    isCapped: () => false,
    grants: { permissions: () => NO_PERMISSIONS },
    uniqueItemId: async (id: string) => id,
    append: async (events: readonly { readonly type: string }[]) => {
      shown.push(...events.filter(({ type }) => type === 'itemCompleted').map(({ type }) => type));
      return 0;
    },
  } as unknown as TurnPort;
  const view = imageViewer(port, { clock: systemClock, hidden: [] }, NEVER);
  const results = await Promise.all(Array.from({ length: 12 }, (_, call) => view(`call_${call}`, 'large.png')));
  const images = results.filter(({ kind }) => kind === 'image');
  expect(images).toHaveLength(6);
  expect(shown).toHaveLength(6);
  expect(results.at(-1)).toMatchObject({ kind: 'problem', problem: expect.stringContaining('as many images') });
});

test('of an input that names many, the first are shown and the others are words', async () => {
  const { path } = await image();
  const input = Array.from({ length: 20 }, () => ({ type: 'localImage' as const, path, detail: null }));
  const skills = { shown: async () => undefined };
  const reach = { remoteRoots: async () => [], remoteDenials: async () => undefined, tools: { hidden: [] }, skills };
  const shown = await shownInput([...input, { type: 'text', text: 'what is it?', text_elements: [] }], false, reach);
  expect(shown?.map(({ type }) => type)).toEqual([...Array(3).fill('image'), ...Array(18).fill('text')]);
  expect(shown?.at(-1)).toMatchObject({ text: 'what is it?' });
});

test('of an input of a remote client no image is shown that is denied meanwhile, nor where that cannot be told', async () => {
  const { cwd, path } = await image();
  const input = [{ type: 'localImage' as const, path, detail: null }];
  const shownWith = async (remoteDenials: () => Promise<(real: string) => boolean>) => {
    const skills = { shown: async () => undefined };
    const reach = { remoteRoots: async () => [cwd], remoteDenials, tools: { hidden: [] }, skills };
    return (await shownInput(input, true, reach))?.map(({ type }) => type);
  };
  expect(await shownWith(async () => (real) => real === path)).toEqual(['text']);
  expect(await shownWith(async () => Promise.reject(new AppError('invalid', 'no such profile')))).toEqual(['text']);
  expect(await shownWith(async () => () => false)).toEqual(['image']);
});
