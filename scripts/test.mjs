// npm test: installs and builds what is missing, then runs the tests; arguments go to vitest, such as file names.
import { build, install, run } from './setup.mjs';

install();
build();
run('node_modules/vitest/vitest.mjs', ['run', ...process.argv.slice(2)]);
