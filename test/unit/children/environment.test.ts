// What programs are told of our environment.

import { describe, expect, it } from 'vitest';
import { childEnvironment } from '../../../src/children/environment.ts';

describe('childEnvironment', () => {
  it('passes on what programs need and none of the secrets', () => {
    const base = {
      PATH: '/bin',
      HOME: '/home/a',
      LC_ALL: 'C',
      TERM: 'xterm',
      OPENAI_API_KEY: 'marker',
      GITHUB_TOKEN: 'marker',
      LC_SECRET: 'marker',
      DATABASE_URL: 'marker',
      NODE_OPTIONS: '--inspect',
      LANG: undefined,
    };
    expect(childEnvironment(base)).toEqual({ PATH: '/bin', HOME: '/home/a', LC_ALL: 'C', TERM: 'xterm' });
  });

  it('takes what the caller chose, and takes away what it says', () => {
    const chosen = childEnvironment({ PATH: '/bin', HOME: '/home/a' }, { MY_TOKEN: 'meant', HOME: undefined });
    expect(chosen).toEqual({ PATH: '/bin', MY_TOKEN: 'meant' });
  });

  it('always has a path to search', () => {
    expect(childEnvironment({}).PATH).toContain('/usr/bin');
  });
});
