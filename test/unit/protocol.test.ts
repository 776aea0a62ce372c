// The list of all declared messages leaves none out: every declaration that a file exports is in it, in its own direction.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { clientNotifications, notifications, requests, serverRequests } from '../../src/protocol.ts';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));
const DECLARES = /^export const \w+ = (request|notification)\(/m;

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && DECLARES.test(readFileSync(join(SOURCE, file), 'utf8')),
);

interface Declared {
  readonly method: string;
  readonly params: unknown;
}

const isDeclared = (value: unknown): value is Declared =>
  typeof value === 'object' && value !== null && 'method' in value && 'params' in value;

async function declaredIn(file: string): Promise<Declared[]> {
  const exported: Record<string, unknown> = await import(join(SOURCE, file));
  return Object.values(exported).filter(isDeclared);
}

const listed = [requests, notifications, serverRequests, clientNotifications].flatMap((group) =>
  Object.values<Declared>(group),
);

test('every message that is declared anywhere is listed, and no other', async () => {
  const declared = (await Promise.all(files.map(declaredIn))).flat();
  expect(declared.length).toBeGreaterThan(100);
  expect(declared.filter((each) => !listed.includes(each)).map(({ method }) => method)).toEqual([]);
  expect(listed.filter((each) => !declared.includes(each)).map(({ method }) => method)).toEqual([]);
});

test('each method is listed once in its direction', () => {
  for (const group of [requests, notifications, serverRequests, clientNotifications]) {
    const methods = Object.values<Declared>(group).map(({ method }) => method);
    expect(methods.filter((method, place) => methods.indexOf(method) !== place)).toEqual([]);
  }
});

test('requests and notifications are told apart', () => {
  expect(Object.values(requests).every((each) => 'result' in each)).toBe(true);
  expect(Object.values(serverRequests).every((each) => 'result' in each)).toBe(true);
  expect(Object.values(notifications).some((each) => 'result' in each)).toBe(false);
  expect(Object.values(clientNotifications).some((each) => 'result' in each)).toBe(false);
});
