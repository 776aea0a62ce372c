// What people are told of a review, whichever form the reviewer gave its answer.

import { expect, test } from 'vitest';
import { reviewText } from '../../../src/agent/review.ts';

test.each([
  ['its explanation', '{"findings": [], "overall_explanation": " fine "}', 'fine'],
  ['JSON with words around it', 'Here it is:\n```json\n{"overall_explanation": "fine"}\n```', 'fine'],
  ['words instead of JSON', ' Looks {good} to me. ', 'Looks {good} to me.'],
  ['nothing', '  ', 'The reviewer had nothing to say.'],
  ['an empty object', '{}', '{}'],
  ['a finding without a place', '{"findings": [{"title": "Bug", "body": "one\\ntwo"}]}', '- Bug\n  one\n  two'],
  ['what is no finding', '{"findings": [5, {}], "overall_explanation": "odd"}', 'odd'],
])('%s', (_, answer, text) => {
  expect(reviewText(answer)).toBe(text);
});
