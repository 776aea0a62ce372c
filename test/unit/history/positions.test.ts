// Places in an order that is changed by hand.

import { describe, expect, it } from 'vitest';
import { ahead, behind, between } from '../../../src/history/positions.ts';
import { fc } from '../../harness/chance.ts';

describe('places in an order', () => {
  it('have room behind and ahead of any, at no length', () => {
    let [first, last] = [behind(undefined), behind(undefined)];
    for (let step = 0; step < 5000; step += 1) {
      const [lower, higher] = [ahead(first), behind(last)];
      expect(lower < first).toBe(true);
      expect(higher > last).toBe(true);
      expect(Math.max(lower.length, higher.length)).toBe(6);
      [first, last] = [lower, higher];
    }
  });

  it('have room between any two, whatever was put there before', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { maxLength: 200 }), (moves) => {
        const order = [behind(undefined)];
        for (const move of moves) {
          const index = move % (order.length + 1);
          const [low, high] = [order[index - 1], order[index]];
          const place =
            high === undefined ? behind(low) : low === undefined ? ahead(high) : (between(low, high) as string);
          order.splice(index, 0, place);
        }
        expect(order).toEqual([...new Set(order)].sort());
      }),
    );
  });

  it('grow slowly at one spot, and say when there is no room for a reasonable one', () => {
    for (const keepsLow of [true, false]) {
      let [low, high] = [behind(undefined), behind(behind(undefined))];
      let count = 0;
      for (let place = between(low, high); place !== undefined; place = between(low, high)) {
        expect(place > low && place < high).toBe(true);
        if (keepsLow) high = place;
        else low = place;
        count += 1;
      }
      expect(count).toBeGreaterThan(3000);
    }
    expect(between('b', 'b')).toBeUndefined();
    expect(between('c', 'b')).toBeUndefined();
  });
});
