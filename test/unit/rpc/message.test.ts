// Frames to messages: what kind each is, and ids kept as they came.

import { describe, expect, test } from 'vitest';
import {
  errorFrame,
  idNearStart,
  notificationFrame,
  parseFrame,
  requestFrame,
  resultBytes,
  resultFrame,
  withVersion,
} from '../../../src/rpc/message.ts';
import { fc } from '../../harness/chance.ts';

const messageOf = (frame: string) => parseFrame(frame).message;

describe('kinds of messages', () => {
  test.each([
    ['{"id":1,"method":"m","params":{"a":1}}', { kind: 'request', id: '1', method: 'm', params: { a: 1 } }],
    ['{"id":"1","method":"m"}', { kind: 'request', id: '"1"', method: 'm', params: undefined }],
    ['{"method":"m","params":[]}', { kind: 'notification', method: 'm', params: [] }],
    ['{"id":1,"result":null}', { kind: 'response', id: '1', result: null }],
    ['{"id":1,"error":{"code":1}}', { kind: 'response', id: '1', error: { code: 1 } }],
    ['{"id":1,"result":1,"error":2}', { kind: 'response', id: '1', error: 2 }],
    ['{"id":1,"method":"m","result":1}', { kind: 'request', id: '1', method: 'm', params: undefined }],
  ])('%s', (frame, message) => {
    expect(messageOf(frame)).toEqual(message);
  });

  test.each([
    ['{', 'parse', 'null'],
    ['', 'parse', 'null'],
    ['{"a":undefined}', 'parse', 'null'],
    ['[]', 'badRequest', 'null'],
    ['null', 'badRequest', 'null'],
    ['7', 'badRequest', 'null'],
    ['{}', 'badRequest', 'null'],
    ['{"id":1}', 'badRequest', '1'],
    ['{"result":1}', 'badRequest', 'null'],
    ['{"id":null,"method":"m"}', 'badRequest', 'null'],
    ['{"id":true,"method":"m"}', 'badRequest', 'null'],
    ['{"id":1.5,"method":"m"}', 'badRequest', 'null'],
    ['{"id":1e400,"method":"m"}', 'badRequest', 'null'],
    ['{"id":[1],"method":"m"}', 'badRequest', 'null'],
    ['{"id":5,"method":null}', 'badRequest', '5'],
    ['{"jsonrpc":"1.0","id":5,"method":"m"}', 'badRequest', '5'],
    ['{"jsonrpc":2,"id":5,"method":"m"}', 'badRequest', '5'],
  ])('%s is none: %s, answered under %s', (frame, kind, id) => {
    expect(messageOf(frame)).toMatchObject({ kind: 'invalid', id, error: { kind } });
  });

  test('a message may or may not have a version', () => {
    expect(parseFrame('{"jsonrpc":"2.0","method":"m"}').hasVersion).toBe(true);
    expect(parseFrame('{"method":"m"}').hasVersion).toBe(false);
    expect(parseFrame('{').hasVersion).toBe(false);
  });

  test('a member of a prototype is no member', () => {
    expect(messageOf('{"__proto__":{"method":"m","id":1}}')).toMatchObject({ kind: 'invalid', id: 'null' });
  });
});

describe('ids', () => {
  test.each(['0', '-0', '-1', '9007199254740991', '9007199254740993', '-123456789012345678901234567890'])(
    'the integer %s is kept to the digit',
    (id) => {
      expect(messageOf(`{"method":"m","id":${id}}`)).toMatchObject({ kind: 'request', id });
    },
  );

  test('a large one is found beside others of its name', () => {
    const frame =
      '{"params":{"id":12345678901234567890,"x":[{"id":1}],"id":2},"method":"\\"id\\":3","id":98765432109876543210}';
    expect(messageOf(frame)).toMatchObject({ id: '98765432109876543210' });
  });

  test('the last of two counts, as in JSON', () => {
    expect(messageOf('{"id":1,"method":"m","id":98765432109876543210}')).toMatchObject({ id: '98765432109876543210' });
    expect(messageOf('{"id":98765432109876543210,"method":"m","id":1}')).toMatchObject({ id: '1' });
  });

  test('a large number that is not written as an integer is none', () => {
    expect(messageOf('{"id":1e30,"method":"m"}')).toMatchObject({ kind: 'invalid', id: 'null' });
  });

  test('a name written with escapes is the same name', () => {
    expect(messageOf(String.raw`{"\u0069d":98765432109876543210,"method":"m"}`)).toMatchObject({
      id: '98765432109876543210',
    });
  });

  test('a large one is found in a frame of many megabytes, whatever it is beside', () => {
    const long = JSON.stringify(`${'x'.repeat(12_000_000)}\\"{[,:`);
    const frames = [
      `{"method":"m","params":{"id":${long}},"id":98765432109876543210}`,
      `{"id":98765432109876543210,"method":"m","params":[${long}]}`,
      `{"method":"m",${long}:1,"id":98765432109876543210}`,
    ];
    for (const frame of frames) expect(messageOf(frame)).toMatchObject({ kind: 'request', id: '98765432109876543210' });
  });

  test('one of many megabytes itself is kept', () => {
    const id = '7'.repeat(12_000_000);
    const message = messageOf(`{"method":"m","id":${id}}`);
    expect(message.kind === 'request' && message.id === id).toBe(true);
  });

  test.each(['-', '12345678901234567890.0', '12345678901234567890e2'])('%s is none', (id) => {
    expect(messageOf(`{"method":"m","id":${id}}`)).toMatchObject({ kind: 'invalid', id: 'null' });
  });

  test('any integer comes back in the answer digit by digit, wherever it stands', () => {
    const around = fc.dictionary(
      fc.string().filter((name) => !['id', 'method', 'jsonrpc', '__proto__'].includes(name)),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.bigInt(), around, around, (id, before, after) => {
        const members = (each: object) =>
          Object.entries(each).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
        const frame = `{${[...members(before), `"id": ${id}`, '"method":"m"', ...members(after)].join(', ')}}`;
        expect(messageOf(frame)).toMatchObject({ kind: 'request', id: String(id) });
      }),
    );
  });

  test('any text comes back as the same text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (id) => {
        const { message } = parseFrame(JSON.stringify({ id, method: 'm' }));
        expect(JSON.parse((message as { id: string }).id)).toBe(id);
      }),
    );
  });
});

test('no text whatever makes parsing throw', () => {
  const pieces = fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'id', '"id"', '1', 'null', ' ', '\u0000');
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces).map((parts) => parts.join('')),
      ),
      (frame) => {
        expect(['request', 'notification', 'response', 'invalid']).toContain(messageOf(frame).kind);
      },
    ),
    { numRuns: 1000 },
  );
});

describe('an id near the start of a frame that was too long to read', () => {
  test.each([
    ['{"id":7,"method":"m","params":{"a":"', '7'],
    ['{"method":"m","id":"x","params":{', '"x"'],
    [' { "jsonrpc" : "2.0" , "id" : -12345678901234567890 , "par', '-12345678901234567890'],
    ['{"id":"a\\"b","method":"m","params', '"a\\"b"'],
    ['{"params":{"id":7,"a":"', 'null'],
    ['{"id":7', 'null'],
    ['{"id":1.5,"method"', 'null'],
    ['aaaa', 'null'],
    ['', 'null'],
  ])('of %s is %s', (start, id) => {
    expect(idNearStart(start)).toBe(id);
  });
});

test('frames are written as the envelope says', () => {
  expect(resultFrame('1', '{"a":1}', false)).toBe('{"id":1,"result":{"a":1}}');
  expect(JSON.parse(errorFrame('"x"', { code: -1 }, true))).toEqual({ jsonrpc: '2.0', error: { code: -1 }, id: 'x' });
  expect(JSON.parse(requestFrame('3', 'm', undefined, false))).toEqual({ method: 'm', id: 3, params: {} });
  expect(JSON.parse(notificationFrame('m', '{"a":1}', 5, 9))).toEqual({
    method: 'm',
    params: { a: 1 },
    emittedAtMs: 5,
    seq: 9,
  });
  expect(JSON.parse(notificationFrame('m', '{}', 5))).not.toHaveProperty('seq');
  expect(withVersion('{"id":1}')).toBe('{"jsonrpc":"2.0","id":1}');
});

describe('a result of pieces', () => {
  const sizes = [0, 1, 2, 3, 48 * 1024 - 1, 48 * 1024, 48 * 1024 + 1, 100_000];

  test.each(sizes)('has the base64 of %i bytes in it, whole', (size) => {
    const data = Buffer.from(Array.from({ length: size }, (_, at) => (at * 31) & 255));
    const frame = resultBytes('7', ['{"data":"', data, '"}'], false).toString('latin1');
    expect(frame).toBe(`{"id":7,"result":{"data":"${data.toString('base64')}"}}`);
  });
});
