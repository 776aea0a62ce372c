// The outgoing queue: batches, truthful counts, and when a wire counts as standing still.

import { describe, expect, it } from 'vitest';
import { BATCH_BYTES, Outgoing } from '../../../src/transports/outgoing.ts';
import { ManualClock } from './manual-clock.ts';

const tick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

function queue() {
  const clock = new ManualClock();
  const batches: { readonly frames: readonly string[]; readonly progress: () => void; readonly taken: () => void }[] =
    [];
  let stalls = 0;
  const outgoing = new Outgoing(
    (batch, progress, taken) => batches.push({ frames: batch.map(String), progress, taken }),
    clock,
    () => {
      stalls += 1;
    },
  );
  return { clock, batches, outgoing, stalls: () => stalls };
}

describe('Outgoing', () => {
  it('gives all that one tick sends to the wire at once, and one batch at a time', async () => {
    const { batches, outgoing } = queue();
    outgoing.send(['a']);
    outgoing.send([Buffer.from('b'), 'é']);
    expect(outgoing.pending).toBe(4);
    await tick();
    outgoing.send(['c']);
    await tick();
    expect(batches.map(({ frames }) => frames)).toEqual([['a', 'b', 'é']]);
    batches[0]?.taken();
    expect(outgoing.pending).toBe(1);
    expect(batches[1]?.frames).toEqual(['c']);
  });

  it('cuts batches at their size; a larger frame goes alone', async () => {
    const { batches, outgoing } = queue();
    const half = 'x'.repeat(BATCH_BYTES / 2);
    outgoing.send([half, half, 'y', half + half + half, 'z']);
    await tick();
    for (let index = 0; index < 4; index += 1) batches[index]?.taken();
    expect(batches.map(({ frames }) => frames.length)).toEqual([2, 1, 1, 1]);
    expect(outgoing.pending).toBe(0);
  });

  it('tells when it has drained, each at its mark', async () => {
    const { batches, outgoing } = queue();
    const order: string[] = [];
    outgoing.send(['x'.repeat(BATCH_BYTES), 'yy']);
    const all = outgoing.drained(0).then(() => order.push('all'));
    const some = outgoing.drained(2).then(() => order.push('some'));
    await tick();
    batches[0]?.taken();
    await some;
    expect(order).toEqual(['some']);
    batches[1]?.taken();
    await all;
    expect(order).toEqual(['some', 'all']);
  });

  it('counts as stalled only when nothing moves for a minute while something is pending', async () => {
    const { batches, clock, outgoing, stalls } = queue();
    outgoing.send(['a']);
    await tick();
    clock.advance(50_000);
    batches[0]?.progress();
    clock.advance(50_000);
    expect(stalls()).toBe(0);
    batches[0]?.taken();
    clock.advance(600_000);
    expect(stalls()).toBe(0);
    outgoing.send(['b']);
    await tick();
    clock.advance(59_999);
    expect(stalls()).toBe(0);
    clock.advance(1);
    expect(stalls()).toBe(1);
    expect(clock.timers).toBe(0);
  });

  it('gives a frame larger than a batch the time a slow wire needs', async () => {
    const { clock, outgoing, stalls } = queue();
    outgoing.send(['x'.repeat(BATCH_BYTES + 64_000)]);
    await tick();
    clock.advance(60_999);
    expect(stalls()).toBe(0);
    clock.advance(1);
    expect(stalls()).toBe(1);
  });

  it('settles who waits when it is given up', async () => {
    const { batches, clock, outgoing } = queue();
    outgoing.send(['a']);
    await tick();
    const drained = outgoing.drained(0);
    outgoing.discard();
    await drained;
    outgoing.send(['b']);
    batches[0]?.taken();
    await tick();
    expect([outgoing.pending, batches.length, clock.timers]).toEqual([0, 1, 0]);
  });
});
