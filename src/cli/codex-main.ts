// The executable that stands in for the reference's.

import { codexArguments } from './codex-arguments.ts';
import { EXIT } from './exit-codes.ts';
import { exit, outliveReaders, runToExit } from './run.ts';

outliveReaders();
const meant = codexArguments(process.argv.slice(2));
if ('argv' in meant) runToExit(meant.argv);
else if ('text' in meant) {
  process.stdout.write(`${meant.text}\n`);
  exit(EXIT.done);
} else {
  process.stderr.write(`heddle-codex: ${meant.problem}\n`);
  exit(EXIT.usage);
}
