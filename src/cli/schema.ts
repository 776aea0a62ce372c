// heddle schema: writes down the protocol that this server speaks, and its configuration file, for programs and people.

import { AppError } from '../base/errors.ts';
import type { AddCommand } from './commands.ts';
import { single, text } from './typed.ts';

const OPTIONS = {
  out: text('The folder to write into; made where there is none', 'folder'),
  experimental: { type: 'boolean', describe: 'With everything that needs the experimental capability' },
} as const;

const FORMS = [
  ['json', 'Write JSON Schema: one file with all messages, and one for each direction'],
  ['ts', 'Write TypeScript types'],
  ['openrpc', 'Write an OpenRPC document'],
] as const;

export const schemaCommand: AddCommand = (cli, outcome) => {
  cli.command(
    'schema',
    'Write down the protocol, as JSON Schema, TypeScript or OpenRPC',
    (yargs) => {
      const group = yargs
        .usage('$0 schema <command>')
        .options({ config: { type: 'boolean', describe: 'Print the JSON Schema of config.yaml, for editors' } });
      for (const [form, describe] of FORMS)
        group.command(
          form,
          describe,
          (inner) => inner.options(OPTIONS).demandOption('out', 'say where: --out DIR'),
          async (args) => {
            const { writeSchema } = await import('./schema-work.ts');
            outcome.code = await writeSchema(form, {
              folder: single('--out', args.out)!,
              isExperimental: args.experimental === true,
            });
          },
        );
      return group;
    },
    async (args) => {
      if (args.config !== true)
        throw new AppError('invalid', 'say in which form: `heddle schema json|ts|openrpc --out DIR`, or `--config`');
      const { printConfigSchema } = await import('./config-schema.ts');
      outcome.code = printConfigSchema();
    },
  );
};
