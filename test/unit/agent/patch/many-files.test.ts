// A turn that changes more than can be compared while everybody waits.

import { expect, test } from 'vitest';
import { TurnDiff } from '../../../../src/agent/patch/turn-diff.ts';

test('files that are too much for one time are named, and shown the next time', () => {
  const line = `${'x'.repeat(999)}\n`;
  const text = (first: string) => ({ id: first, mode: 0o100644, text: `${first}\n${line.repeat(400)}` });
  const diff = new TurnDiff();
  const names = Array.from({ length: 30 }, (_, at) => `f${String(at).padStart(2, '0')}`);
  diff.observe(names.map((name) => ({ path: `/w/${name}`, before: text('old'), after: text(`new ${name}`) })));
  const first = diff.text('/w');
  expect(first).toContain('+new f00\n');
  expect(first).toContain('Binary files a/f29 and b/f29 differ\n');
  const second = diff.text('/w');
  for (const name of names) expect(second).toContain(`+new ${name}\n`);
  expect(diff.text('/w')).toBe(second);
});
