// Which hosts a list opens, and which addresses it never opens by a name.

import { expect, test } from 'vitest';
import { barredAddress, barredName, isPrivate, plainHost } from '../../../src/sandbox/hosts.ts';

const rules = (allow: string[], more: object = {}) => ({
  ...{ allow, deny: [], isLimited: false, allowsLocal: false },
  ...more,
});

test.each([
  [['example.com'], 'example.com', undefined],
  [['example.com'], 'api.example.com', 'notListed'],
  [['*.example.com'], 'api.example.com', undefined],
  [['*.example.com'], 'a.b.example.com', undefined],
  [['*.example.com'], 'example.com', 'notListed'],
  [['*.example.com'], 'evilexample.com', 'notListed'],
  [['**.example.com'], 'example.com', undefined],
  [['**.example.com'], 'api.example.com', undefined],
  [['**.example.com'], 'evilexample.com', 'notListed'],
  [['example.com'], 'example.com.evil.org', 'notListed'],
  [['*'], 'anything.org', undefined],
  [[], 'example.com', 'notListed'],
] as const)('%j: %s is %s', (allow, host, barred) => {
  expect(barredName(rules([...allow]), host)).toBe(barred);
});

test('what is denied stays so, however much is allowed', () => {
  const both = rules(['*', 'example.com'], { deny: ['**.example.com', '93.184.216.34'] });
  expect(barredName(both, 'example.com')).toBe('denied');
  expect(barredName(both, 'a.example.com')).toBe('denied');
  expect(barredAddress(both, 'other.org', '93.184.216.34')).toBe('denied');
  expect(barredName(both, 'other.org')).toBeUndefined();
});

test.each([
  ...['127.0.0.1', '127.8.8.8', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254'],
  ...['0.0.0.0', '100.64.0.1', '224.0.0.1', '255.255.255.255', '::1', '::', 'fe80::1', 'fd00::1', 'ff02::1'],
  ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::7f00:1', '64:ff9b::7f00:1', '2002:7f00:1::', 'localhost', ''],
  ...['::ffff:0:127.0.0.1', '2606:4700::1111%eth0', '::1%lo'],
])('%s is not of the public internet', (address) => {
  expect(isPrivate(address)).toBe(true);
});

test.each(['93.184.216.34', '8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])('%s is', (address) => {
  expect(isPrivate(address)).toBe(false);
});

test('a name that is listed does not open what it leads to here; the address itself, and localhost, do when they are listed', () => {
  const at = (allow: string[], host: string, address: string, more?: object) =>
    barredAddress(rules(allow, more), host, address);
  expect(at(['example.com'], 'example.com', '127.0.0.1')).toBe('private');
  expect(at(['*'], '127.0.0.1', '127.0.0.1')).toBe('private');
  expect(at(['*'], 'localhost', '::1')).toBe('private');
  expect(at(['localhost'], 'localhost', '127.0.0.1')).toBeUndefined();
  expect(at(['localhost'], 'localhost', '10.0.0.1')).toBe('private');
  expect(at(['10.0.0.1'], '10.0.0.1', '10.0.0.1')).toBeUndefined();
  expect(at(['example.com'], 'example.com', '10.0.0.1', { allowsLocal: true })).toBeUndefined();
  expect(at(['example.com'], 'example.com', '93.184.216.34')).toBeUndefined();
});

test('a host is compared in one form', () => {
  const given = ['[::1]', 'EXAMPLE.com.', 'a.b', '[2606:4700:0::0:1111]', '::FFFF:5db8:d822', 'fe80::1%eth0'];
  const plain = ['::1', 'example.com', 'a.b', '2606:4700::1111', '93.184.216.34', 'fe80::1%eth0'];
  expect(given.map(plainHost)).toEqual(plain);
});

test('an address that is denied stays so in every form', () => {
  const both = rules(['*'], { deny: ['93.184.216.34', '2606:4700:0:0::1111'] });
  for (const form of ['::ffff:93.184.216.34', '[::FFFF:5DB8:D822]', '[2606:4700::1111]', '2606:4700:0::1111'])
    expect(barredName(both, plainHost(form))).toBe('denied');
  expect(barredAddress(both, 'other.org', '::ffff:93.184.216.34')).toBe('denied');
  expect(barredAddress(rules(['::1']), '::1', '0:0::1')).toBeUndefined();
});
