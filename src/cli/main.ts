// The executable.

import { runToExit } from './run.ts';

runToExit(process.argv.slice(2));
