// What `heddle exec` prints, and where.

import { expect, test } from 'vitest';
import { jsonOutput, PlainOutput } from '../../../src/cli/exec-output.ts';
import { agentMessage } from '../../../src/model/item.ts';

const ids = { threadId: 't', turnId: 'u' };
const delta = (text: string) => ({ method: 'item/agentMessage/delta', params: { ...ids, itemId: 'm', delta: text } });
const output = (text: string) => ({
  method: 'item/commandExecution/outputDelta',
  params: { ...ids, itemId: 'c', delta: text },
});
const message = {
  method: 'item/completed',
  params: { ...ids, item: { ...agentMessage('m', null, 1), text: 'x' }, contentTokenCount: null, completedAtMs: 2 },
};

function screen(isTTY: boolean) {
  const written: [string, string][] = [];
  const stream = (name: string) => ({ isTTY, write: (text: string) => written.push([name, text]) > 0 });
  return { written, streams: { out: stream('out'), err: stream('err') } as never };
}

const joined = (written: readonly [string, string][], name?: string) =>
  written
    .filter(([to]) => name === undefined || to === name)
    .map(([, text]) => text)
    .join('');

test('on one terminal each text begins on a line of its own', () => {
  const { written, streams } = screen(true);
  const plain = new PlainOutput(streams, { NO_COLOR: '1' });
  plain.show(delta('half a line'));
  plain.show(output('work\nmore'));
  plain.show(delta('next \u001b[2J'));
  plain.show(message);
  plain.note('done');
  expect(joined(written)).toBe('half a line\nwork\nmore\nnext \\u001b[2J\ndone\n');
});

test('in a pipe the answer is byte for byte what was said', () => {
  const { written, streams } = screen(false);
  const plain = new PlainOutput(streams, {});
  plain.show(delta('a\u001b['));
  plain.show(output('work'));
  plain.show(delta('b'));
  plain.show(message);
  expect(joined(written, 'out')).toBe('a\u001b[b\n');
  expect(joined(written, 'err')).toBe('work');
});

test('as JSON each notification is a line, whatever is in it', () => {
  const { written, streams } = screen(false);
  jsonOutput(streams).show(delta('two\nlines'));
  expect(joined(written, 'out')).toBe(`${JSON.stringify(delta('two\nlines'))}\n`);
});

test('calls of tools are told with what they are given, and how they failed', () => {
  const { written, streams } = screen(false);
  const plain = new PlainOutput(streams, {});
  const item = {
    ...{
      type: 'mcpToolCall',
      id: 'c',
      server: 'tickets',
      environmentId: null,
      tool: 'find',
      arguments: { id: 'T-1\u001b' },
    },
    ...{ appContext: null, mcpAppUi: null, pluginId: null, readOnlyHint: null, result: null, durationMs: null },
    ...{ startedAtMs: 1, completedAtMs: null, status: 'inProgress', error: null },
  };
  plain.show({ method: 'item/started', params: { ...ids, item, startedAtMs: 1 } });
  const failed = { ...item, status: 'failed', error: { message: 'no such ticket' }, completedAtMs: 2 };
  plain.show({ method: 'item/completed', params: { ...ids, item: failed, contentTokenCount: null, completedAtMs: 2 } });
  expect(joined(written, 'err')).toBe('calls tickets/find {"id":"T-1\\u001b"}\nthe call failed: no such ticket\n');
});
