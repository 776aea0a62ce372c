// The executable: from the command line to an exit code.

import { complaintOf, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { plainServerFlags } from './plain-flags.ts';

async function run(argv: readonly string[]): Promise<ExitCode> {
  const flags = plainServerFlags(argv);
  if (flags) return (await import('./serve.ts')).serve(flags);
  return (await import('./commands.ts')).runCommand(argv);
}

/** What has been written is on its way before the process exits; nothing that still lingers holds it up. */
function exit(code: ExitCode): void {
  process.exitCode = code;
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
}

run(process.argv.slice(2)).then(exit, (error: unknown) => {
  process.stderr.write(complaintOf(error, 'heddle --help'));
  exit(exitCodeOf(error));
});
