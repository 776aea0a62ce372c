// heddle completion: has shells complete our command lines.

import type { AddCommand } from './commands.ts';
import { SHELLS, scriptOf } from './completion-scripts.ts';
import { EXIT } from './exit-codes.ts';

const EPILOGUE = [
  'bash: source <(heddle completion bash), in ~/.bashrc',
  'zsh:  source <(heddle completion zsh), in ~/.zshrc behind compinit',
  'fish: heddle completion fish > ~/.config/fish/completions/heddle.fish',
  '',
  'The script asks the `heddle` on PATH at each completion, so it need not be made anew with a new version.',
].join('\n');

export const completionCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'completion <shell>',
    'Print what has a shell complete command lines of heddle',
    (yargs) =>
      yargs.positional('shell', { choices: SHELLS, demandOption: true, describe: 'Which one' }).epilogue(EPILOGUE),
    (args) => {
      process.stdout.write(scriptOf(args.shell));
      outcome.code = EXIT.done;
    },
  );
};
