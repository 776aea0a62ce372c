// All commands, read with yargs; each is a file that loads its work when it is run.

import yargs, { type Argv } from 'yargs';
import { AppError, messageOf } from '../base/errors.ts';
import { appServerCommand } from './app-server.ts';
import { approvalsCommand } from './approvals.ts';
import { attachCommand } from './attach.ts';
import { chatCommand } from './chat.ts';
import { treeOf } from './command-tree.ts';
import { completionCommand } from './completion.ts';
import { configCommand } from './config.ts';
import { doctorCommand } from './doctor.ts';
import { checkEnvironment, VERSION } from './environment.ts';
import { execCommand } from './exec.ts';
import { complaintOf, EXIT, type ExitCode, exitCodeOf } from './exit-codes.ts';
import { readable } from './help-text.ts';
import { historyCommand } from './history.ts';
import { helpFor, misread } from './misread.ts';
import { policyCommand } from './policy.ts';
import { schemaCommand } from './schema.ts';
import { WIDEST } from './terminal.ts';
import { threadsCommand } from './threads.ts';
import { tokenCommand } from './token.ts';

/** In the order of the help. */
export const COMMANDS: readonly AddCommand[] = [
  appServerCommand,
  chatCommand,
  execCommand,
  attachCommand,
  threadsCommand,
  approvalsCommand,
  policyCommand,
  configCommand,
  doctorCommand,
  historyCommand,
  tokenCommand,
  schemaCommand,
  completionCommand,
];

/** Runs the command that the arguments name, and says on standard error why it could not. Never rejects. */
export async function runCommand(argv: readonly string[]): Promise<ExitCode> {
  try {
    if (argv[0] === 'completion' && argv[1] === 'words')
      return await (await import('./completion-work.ts')).completeWords(treeOf(COMMANDS), argv.slice(2));
    checkEnvironment();
    return await dispatch(argv);
  } catch (error) {
    process.stderr.write(complaintOf(error, helpFor(treeOf(COMMANDS), argv)));
    return exitCodeOf(error);
  }
}

async function dispatch(argv: readonly string[]): Promise<ExitCode> {
  const outcome: Outcome = { code: EXIT.done };
  const width = Math.min(process.stdout.columns || WIDEST, WIDEST);
  const text = await parsed(argv, outcome, width);
  if (text !== '') process.stdout.write(`${text}\n`);
  return outcome.code;
}

/** Runs the command; the help or the version in its place, where that was asked for. */
export async function parsed(argv: readonly string[], outcome: Outcome, width: number): Promise<string> {
  let text = '';
  await parser(argv, outcome, width).parseAsync([...argv], {}, (_error: unknown, _args: unknown, said: string) => {
    text = readable(said, width);
  });
  return text;
}

function parser(argv: readonly string[], outcome: Outcome, width: number): Argv {
  const cli = yargs([...argv])
    .scriptName('heddle')
    .usage('$0 <command>\n\nApp server for coding agents: durable threads, streamed turns, any model provider')
    .parserConfiguration({
      'boolean-negation': false,
      'dot-notation': false,
      'greedy-arrays': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
    })
    .detectLocale(false)
    .version(VERSION)
    .alias('help', 'h')
    .strict()
    .recommendCommands()
    .epilogue('Every command has --help; `heddle doctor` says what is missing.')
    .demandCommand(1, 'no command was given; `heddle app-server` starts a server, `heddle exec "…"` runs one turn')
    .wrap(width)
    .exitProcess(false)
    .fail((text: string | null, error: unknown) => {
      throw isMisread(error) || !error
        ? new AppError('invalid', misread(treeOf(COMMANDS), oneLine(text ?? messageOf(error)), argv))
        : error;
    });
  for (const add of COMMANDS) add(cli, outcome);
  return cli;
}

/** Where the command that ran leaves its exit code. */
export interface Outcome {
  code: ExitCode;
}

export type AddCommand = (cli: Argv, outcome: Outcome) => void;

function isMisread(error: unknown): error is Error {
  return error instanceof Error && error.name === 'YError';
}

const oneLine = (text: string): string =>
  text
    .trim()
    .replace(/:\s*\n\s*/g, ': ')
    .replace(/\s*\n\s*/g, '; ');
