// Small facts that the wire forms share: pairing of calls and outputs, hints how long to wait, headers of failures.

import { expect, test } from 'vitest';
import { endpoint, withoutQuery } from '../../../../src/agent/models/endpoint.ts';
import { hintedDelayMs } from '../../../../src/agent/models/retry-hint.ts';
import { reasonIn, retryAfterMs } from '../../../../src/agent/models/status-error.ts';
import { noteText, wellFormed } from '../../../../src/agent/models/well-formed.ts';
import type { ContextItem } from '../../../../src/model/context.ts';
import { accessTo } from './access.ts';

const user: ContextItem = { type: 'user', content: [] };
const call = (callId: string): ContextItem => ({ type: 'toolCall', callId, name: 't', arguments: '{}' });
const output = (callId: string): ContextItem => ({ type: 'toolOutput', callId, output: callId, success: true });
const shape = (items: readonly ContextItem[]) =>
  items.map((item) => ('callId' in item ? `${item.type} ${item.callId}` : item.type));

test('outputs follow the calls of their answer in the order of the calls', () => {
  const context = [user, call('a'), call('b'), output('b'), output('a'), call('c'), output('c')];
  expect(shape(wellFormed(context))).toEqual([
    'user',
    'toolCall a',
    'toolCall b',
    'toolOutput a',
    'toolOutput b',
    'toolCall c',
    'toolOutput c',
  ]);
});

test('a call that was interrupted gets an output, an output without call is dropped', () => {
  const note: ContextItem = { type: 'note', text: 'stopped' };
  const result = wellFormed([user, call('a'), note, user, output('lost'), call('b')]);
  expect(shape(result)).toEqual(['user', 'toolCall a', 'toolOutput a', 'note', 'user', 'toolCall b', 'toolOutput b']);
  expect(result[2]).toMatchObject({ success: false, output: expect.stringContaining('interrupted') });
});

test('notes are marked once', () => {
  expect(noteText('stopped')).toBe('<note>\nstopped\n</note>');
  expect(noteText('<environment>x</environment>')).toBe('<environment>x</environment>');
});

test.each([
  ['Please try again in 0.3s.', 300],
  ['try again in 250ms', 250],
  ['Try again in 2 minutes', 120_000],
  ['try again in 7 seconds.', 7000],
  ['try again later', undefined],
])('%s', (text, ms) => {
  expect(hintedDelayMs(text)).toBe(ms);
});

test('retry-after is read in its three forms', () => {
  expect(retryAfterMs({ 'retry-after': '3' }, 0)).toBe(3000);
  expect(retryAfterMs({ 'retry-after': new Date(65_000).toUTCString() }, 60_000)).toBe(5000);
  expect(retryAfterMs({ 'retry-after-ms': '20', 'retry-after': '3' }, 0)).toBe(20);
  expect(retryAfterMs({ 'retry-after': 'soon' }, 0)).toBeUndefined();
  expect(retryAfterMs({}, 0)).toBeUndefined();
});

test.each([
  ['{"error":{"message":"a"}}', 'a'],
  ['{"message":"b"}', 'b'],
  ['{"error":"c"}', 'c'],
  ['<html>', ''],
  ['[]', ''],
])('the reason in %s', (body, reason) => {
  expect(reasonIn(body)).toBe(reason);
});

test('an endpoint keeps the path of its base and adds the query, which errors do not show', () => {
  const access = { ...accessTo({ baseUrl: 'https://host/api/v1/' }), query: { key: 'secret' } };
  const url = endpoint(access, 'responses');
  expect(url).toBe('https://host/api/v1/responses?key=secret');
  expect(withoutQuery(url)).toBe('https://host/api/v1/responses');
  expect(() => endpoint({ ...access, baseUrl: 'file:///etc' }, 'responses')).toThrow(/no http or https URL/);
});
