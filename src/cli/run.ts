// From a command line to the end of the process.

import { EXIT, type ExitCode } from './exit-codes.ts';
import { plainServerFlags } from './plain-flags.ts';

/** Runs what the arguments say, then ends the process with its exit code. */
export function runToExit(argv: readonly string[]): void {
  // Our timers and stores do not keep a process alive, and what runs here may wait for nothing else.
  setInterval(() => {}, 2 ** 31 - 1);
  run(argv).then(exit, (error: unknown) => {
    process.stderr.write(`heddle: ${error instanceof Error ? error.stack : error}\n`);
    exit(EXIT.failed);
  });
}

// The parts are bundles of their own with classes of their own: they tell errors apart and say them; here only codes arrive.
async function run(argv: readonly string[]): Promise<ExitCode> {
  const flags = plainServerFlags(argv);
  if (flags) return (await import('./serve.ts')).serve(flags);
  outliveReaders();
  return (await import('./commands.ts')).runCommand(argv);
}

/** Whoever read has seen enough: what is done is done to its end, and nobody is told so. */
export function outliveReaders(): void {
  const gone = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error;
  };
  for (const stream of [process.stdout, process.stderr]) stream.on('error', gone);
}

/** What has been written is on its way before the process exits; nothing that still lingers holds it up. */
export function exit(code: ExitCode): void {
  process.exitCode = code;
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
}
