// Where chance begins in tests: always at the same place, so that a change is judged by what it changed, unless more rounds are asked for.

import fastCheck from 'fast-check';

const MORE = ['HEDDLE_ROUNDS', 'HEDDLE_RUNS', 'HEDDLE_FLIPS', 'HEDDLE_CUTS', 'HEDDLE_FAILURES', 'PATCH_RUNS'];

const isExploring = MORE.some((name) => process.env[name] !== undefined);

/** `HEDDLE_SEED` repeats what was seen with that seed. */
export const SEED = Number(process.env.HEDDLE_SEED ?? (isExploring ? Date.now() % 2 ** 31 : 20_311));

fastCheck.configureGlobal({ seed: SEED });

/** Its properties begin with the seed, too. */
export { default as fc } from 'fast-check';
