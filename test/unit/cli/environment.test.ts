// Variables of ours with values that mean nothing are refused, not ignored.

import { expect, test } from 'vitest';
import { checkEnvironment } from '../../../src/cli/environment.ts';

test.each([
  [{ HEDDLE_LOG: 'nonsense' }, /`HEDDLE_LOG=nonsense` means nothing; choose trace, debug, .* silent/],
  [{ HEDDLE_LOG: 'DEBUG' }, /choose trace, debug/],
  [{ HEDDLE_VALIDATE: 'yes' }, /`HEDDLE_VALIDATE=yes` means nothing; choose 0, 1/],
])('%j', (environment, said) => {
  expect(() => checkEnvironment(environment)).toThrow(said);
});

test.each([{}, { HEDDLE_LOG: '' }, { HEDDLE_LOG: 'debug', HEDDLE_VALIDATE: '0' }, { HEDDLE_VALIDATE: '1' }])(
  '%j is taken',
  (environment) => expect(() => checkEnvironment(environment)).not.toThrow(),
);
